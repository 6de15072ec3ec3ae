-- Each sample is a row with its own columns.
CREATE OR REPLACE TEMP TABLE batch AS
SELECT row_number() OVER () - 1 AS _i, row_number() OVER () - 1 AS _row, *
FROM (
{% for file in files %}
{{ 'UNION ALL BY NAME' if not loop.first }}
{% if file.format == 'parquet' %}
SELECT *, {{ file.suffix | lit }} AS _suffix FROM read_parquet({{ file.path | lit }})
{% elif file.format == 'text' %}
SELECT content AS text, {{ file.suffix | lit }} AS _suffix FROM read_text({{ file.path | lit }})
{% else %}
SELECT *, {{ file.suffix | lit }} AS _suffix FROM read_csv({{ file.path | lit }}, header = true, sample_size = -1, delim = {{ file.delimiter | lit }})
{% endif %}
{% endfor %}
)
