-- Outcomes of each row in run a and in run b: the number of rows of each pair of outcomes, and the first rows;
-- with `pair`, all rows of this pair.
WITH
names AS (
  SELECT * FROM (VALUES ('', 0, ''){% for run, step, name in names %}, ({{ run }}, {{ step }}, {{ name }}){% endfor %}) AS names (run, step, name)
),
{% for run in ['a', 'b'] %}
fates_{{ run }} AS (
  SELECT
    found._row,
    CASE
      WHEN found.broken AND found.step = 0 THEN 'could not be read'
      WHEN found.broken THEN 'quarantined by ' || names.name
      WHEN found.step IS NULL THEN 'kept'
      ELSE 'removed by ' || names.name
    END AS fate
  FROM (
    SELECT _row, CAST(_dropped AS INTEGER) AS step, FALSE AS broken FROM {{ run }}.row_outcomes
    UNION ALL
    SELECT _row, step, TRUE FROM {{ run }}.quarantine
  ) AS found
  LEFT JOIN names ON names.run = '{{ run }}' AND names.step = found.step
){{ ',' if not loop.last }}
{% endfor %}
{% if pair %}
SELECT _row
FROM fates_a FULL JOIN fates_b USING (_row)
WHERE coalesce(fates_a.fate, 'not read') = {{ pair[0] | lit }} AND coalesce(fates_b.fate, 'not read') = {{ pair[1] | lit }}
ORDER BY _row
{% else %}
SELECT
  fates_a.fate AS fate_a,
  fates_b.fate AS fate_b,
  count(*) AS rows,
  min(_row, {{ limit }}) AS examples
FROM fates_a FULL JOIN fates_b USING (_row)
GROUP BY ALL
ORDER BY rows DESC, fate_a, fate_b
{% endif %}
