-- The waterfall: what came into each step, and what became of it. Bytes are those of the text as UTF-8.
{% macro rows(column, condition) %}CAST(coalesce(sum({{ column }}) FILTER (WHERE {{ condition }}), 0) AS BIGINT){% endmacro %}
CREATE OR REPLACE TABLE steps AS
WITH by_fate AS MATERIALIZED (
{{ sums }}
)
{% for step in steps %}
{{ 'UNION ALL' if not loop.first }}
SELECT
  {{ step.index }} AS step,
  {{ step.name | lit }} AS operator,
  {{ step.kind | lit }} AS kind,
  {{ step.params | lit }} AS parameters,
  {{ step.where | lit }} AS recipe_line,
  f.rows_in + q.later AS rows_in,
  f.rows_out + q.later - q.here AS rows_out,
  f.removed AS removed,
  f.changed AS changed,
  q.here AS quarantined,
  CAST(f.bytes_in AS BIGINT) AS bytes_in,
  CAST(f.bytes_out AS BIGINT) AS bytes_out,
  coalesce((SELECT seconds FROM _seconds WHERE _seconds.step = {{ step.index }}), 0.0) AS seconds,
  CAST({{ step.title | lit }} AS VARCHAR) AS name,
  CAST({{ step.batch | lit }} AS BIGINT) AS batch_size
FROM (
  SELECT
    {{ rows('_rows', '_dropped IS NULL OR _dropped ' ~ step.given) }} AS rows_in,
    {{ rows('_rows', '_dropped IS NULL OR _dropped ' ~ step.left) }} AS rows_out,
    {{ rows('_rows', '_dropped = ' ~ step.index) }} AS removed,
    {% if step.changed %}{{ rows(step.changed, 'TRUE') }}{% else %}CAST(0 AS BIGINT){% endif %} AS changed,
    coalesce(sum({{ step.bytes_before }}) FILTER (WHERE _dropped IS NULL OR _dropped {{ step.given }}), 0) AS bytes_in,
    coalesce(sum({{ step.bytes_after }}) FILTER (WHERE _dropped IS NULL OR _dropped {{ step.left }}), 0) AS bytes_out
  FROM by_fate
) AS f, (
  SELECT
    CAST(coalesce(sum(_rows) FILTER (WHERE step {{ step.given }}), 0) AS BIGINT) AS later,
    CAST(coalesce(sum(_rows) FILTER (WHERE step = {{ step.index }}), 0) AS BIGINT) AS here
  FROM {{ broken }}
) AS q
{% else %}
SELECT
  CAST(0 AS INTEGER) AS step, '' AS operator, '' AS kind, '' AS parameters, '' AS recipe_line,
  {% for name in ('rows_in', 'rows_out', 'removed', 'changed', 'quarantined', 'bytes_in', 'bytes_out') %}
  CAST(0 AS BIGINT) AS {{ name }},
  {% endfor %}
  CAST(0 AS DOUBLE) AS seconds,
  CAST(NULL AS VARCHAR) AS name,
  CAST(NULL AS BIGINT) AS batch_size
WHERE FALSE
{% endfor %}
ORDER BY step
