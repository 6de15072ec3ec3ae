-- What the workers wrote about every sample that could be read, under its number in the whole input. A deduplicator
-- stands between two stages: what it removed is in no later one. In the order of the samples, which the files of one
-- stage have already: DuckDB keeps the order of files and of their rows. Many files of one stage are not copied; those of
-- several are joined and put in order for some shards at a time.
{% if more %}
INSERT INTO facts
{% elif kind %}
CREATE OR REPLACE TEMP {{ kind }} facts AS
{% endif %}
WITH
{% for stage in stages %}
stage_{{ stage }} AS (
  SELECT
    getvariable('first_rows')[CAST(regexp_extract(_facts_file, '([0-9]+)[.]facts[.]parquet$', 1) AS BIGINT) + 1] + _row AS _row,
    _dropped AS _dropped_{{ stage }},
    * EXCLUDE (_row, _dropped, _facts_file)
  FROM read_parquet(getvariable('facts_{{ stage }}'), filename = '_facts_file')
),
{% endfor %}
gone AS (
{% for barrier in removing if barrier.duplicates %}
  SELECT _row, {{ barrier.step }} AS _step FROM duplicates WHERE step = {{ barrier.step }}{% if range %} AND _row BETWEEN {{ range }}{% endif %}

  UNION ALL
{% endfor %}
  SELECT CAST(NULL AS BIGINT) AS _row, CAST(NULL AS INTEGER) AS _step WHERE FALSE
)
SELECT
  stage_1._row,
  {% if joined %}
  coalesce({% for stage in stages %}_dropped_{{ stage }}, {% endfor %}gone._step) AS _dropped,
  {% else %}
  _dropped_1 AS _dropped,
  {% endif %}
  COLUMNS(* EXCLUDE (_row{% for stage in stages %}, _dropped_{{ stage }}{% endfor %}{% if joined %}, _step{% endif %}))
FROM stage_1
{% for stage in stages[1:] %}
LEFT JOIN stage_{{ stage }} ON stage_{{ stage }}._row = stage_1._row
{% endfor %}
{% if joined %}
LEFT JOIN gone ON gone._row = stage_1._row
{% endif %}
{% if quarantined %}
WHERE stage_1._row NOT IN (SELECT _row FROM quarantine)
{% endif %}
{% if joined %}
ORDER BY 1
{% endif %}
