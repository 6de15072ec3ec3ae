-- The waterfall: what came into each step, and what became of it. Bytes are those of the text as UTF-8.
{% macro rows(condition) %}CAST(coalesce(sum(_rows) FILTER (WHERE {{ condition }}), 0) AS BIGINT){% endmacro %}
{% macro bytes(column, condition) %}
CAST(coalesce(sum(CASE l.step {% for step in steps %}WHEN {{ step.index }} THEN {{ step[column] }} {% endfor %}END) FILTER (WHERE {{ condition }}), 0) AS BIGINT)
{%- endmacro %}
CREATE OR REPLACE TABLE steps AS
WITH listed AS (  -- place: of a step in the order in which the steps ran
{% for step in steps %}
  {{ 'UNION ALL' if not loop.first }}
  SELECT
    {{ step.index }} AS step,
    {{ step.place }} AS place,
    {{ step.name | lit }} AS operator,
    {{ step.kind | lit }} AS kind,
    {{ step.params | lit }} AS parameters,
    {{ step.where | lit }} AS recipe_line,
    CAST({{ step.title | lit }} AS VARCHAR) AS name,
    CAST({{ step.batch | lit }} AS BIGINT) AS batch_size
{% else %}
  SELECT
    CAST(0 AS INTEGER) AS step, CAST(0 AS INTEGER) AS place, '' AS operator, '' AS kind, '' AS parameters, '' AS recipe_line,
    CAST(NULL AS VARCHAR) AS name, CAST(NULL AS BIGINT) AS batch_size
  WHERE FALSE
{% endfor %}
),
by_fate AS (
{{ sums }}
),
passed AS (
  SELECT
    l.step,
    {{ rows('f._dropped IS NULL OR d.place >= l.place') }} AS rows_in,
    {{ rows('f._dropped IS NULL OR d.place > l.place') }} AS rows_out,
    {{ rows('f._dropped = l.step') }} AS removed,
    CAST(coalesce(sum(CASE l.step {% for step in steps if step.changed %}WHEN {{ step.index }} THEN {{ step.changed }} {% endfor %}WHEN NULL THEN 0 END), 0) AS BIGINT) AS changed,  -- NULL: a CASE needs a WHEN where no step changes texts
    {{ bytes('bytes_before', 'f._dropped IS NULL OR d.place >= l.place') if steps else '0::BIGINT' }} AS bytes_in,
    {{ bytes('bytes_after', 'f._dropped IS NULL OR d.place > l.place') if steps else '0::BIGINT' }} AS bytes_out
  FROM listed AS l
  LEFT JOIN by_fate AS f ON TRUE
  LEFT JOIN listed AS d ON d.step = f._dropped
  GROUP BY l.step
),
broken AS (
  SELECT l.step, {{ rows('d.place >= l.place') }} AS later, {{ rows('d.step = l.step') }} AS here
  FROM listed AS l
  LEFT JOIN {{ broken }} AS b ON TRUE
  LEFT JOIN listed AS d ON d.step = b.step
  GROUP BY l.step
)
SELECT
  step,
  operator,
  kind,
  parameters,
  recipe_line,
  rows_in + later AS rows_in,
  rows_out + later - here AS rows_out,
  removed,
  changed,
  here AS quarantined,
  bytes_in,
  bytes_out,
  coalesce(seconds, 0.0) AS seconds,
  name,
  batch_size
FROM listed
JOIN passed USING (step)
JOIN broken USING (step)
LEFT JOIN _seconds USING (step)
ORDER BY step
