-- How many samples have which value, rounded, and the lengths and tokens of their texts; by statistic and value. Sums of
-- whole numbers are exact, so their order does not matter; only where a square does not fit are they taken as DOUBLE.
INSERT INTO stat_summary
WITH rounded AS (
{% for stat in stats %}
  {{ 'UNION ALL' if not loop.first }}
  SELECT
    {{ loop.index }} AS nth,
    CAST(_value AS DOUBLE) AS place,
    {% if stat.real %}
    CASE WHEN isnan(_value) THEN 'nan' WHEN _value = -5e-324 THEN '-0.0' ELSE CAST(_value AS VARCHAR) END AS key,
    {% else %}
    CAST(_value AS VARCHAR) AS key,
    {% endif %}
    * EXCLUDE (_value)
  FROM (
    SELECT
      _value,
      count(*) AS n,
      {% for name, column in (('chars', stat.chars), ('tokens', tokens)) %}
      count({{ column }}) AS n_{{ name }}, sum({{ column }}) AS total_{{ name }},
      sum(CAST({{ column }} AS HUGEINT) * {{ column }}) AS squares_{{ name }},
      min({{ column }}) AS min_{{ name }}, max({{ column }}) AS max_{{ name }}{{ ',' if not loop.last }}
      {% endfor %}
    FROM (
      {% if stat.real %}
      SELECT CASE WHEN _value = 0 AND signbit(_value) THEN -5e-324 ELSE _value END AS _value, {{ stat.chars }}, {{ tokens }}
      FROM (SELECT {{ stat.rounded }} AS _value, {{ stat.chars }}, {{ tokens }} FROM facts WHERE {{ stat.column }} IS NOT NULL)
      {% else %}
      SELECT {{ stat.rounded }} AS _value, {{ stat.chars }}, {{ tokens }} FROM facts WHERE {{ stat.column }} IS NOT NULL
      {% endif %}
    )
    GROUP BY _value
  )
{% endfor %}
),
counted AS (
  SELECT nth, 0 AS part, place, key, n, 1.0 AS mean, 0.0 AS m2, 1.0 AS min, 1.0 AS max, CAST(n AS DOUBLE) AS total FROM rounded
  {% for name in ('chars', 'tokens') %}
  UNION ALL
  SELECT
    nth, {{ loop.index }}, place, key, n_{{ name }}, CAST(total_{{ name }} AS DOUBLE) / n_{{ name }},
    coalesce(
      TRY(CAST(n_{{ name }} * squares_{{ name }} - total_{{ name }} * total_{{ name }} AS DOUBLE) / n_{{ name }}),
      CAST(squares_{{ name }} AS DOUBLE) - CAST(total_{{ name }} AS DOUBLE) * CAST(total_{{ name }} AS DOUBLE) / n_{{ name }}
    ),
    CAST(min_{{ name }} AS DOUBLE), CAST(max_{{ name }} AS DOUBLE), CAST(total_{{ name }} AS DOUBLE)
  FROM rounded
  WHERE n_{{ name }} > 0
  {% endfor %}
)
SELECT
  'histogram', key, {{ stats | map(attribute='name') | list | lit }}[nth] || ['', '__chars', '__tokens'][part + 1],
  n, mean, m2, min, max, total, 0, 0
FROM counted
ORDER BY nth, part, place, key
