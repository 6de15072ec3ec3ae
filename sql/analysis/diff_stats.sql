-- Moments of each statistic in both runs, over all rows that it was computed for and over the kept ones, and the effect size:
-- Cohen's d, the difference of the means in pooled standard deviations.
{% macro finite(column) %}CASE WHEN isfinite(CAST({{ column }} AS DOUBLE)) THEN CAST({{ column }} AS DOUBLE) END{% endmacro %}
WITH moments AS (
{% for name, column_a, column_b in columns %}
{% set place = loop.index0 %}
{% for run, column in [('a', column_a), ('b', column_b)] %}
{% for over, condition in [('measured', ''), ('kept', 'WHERE kept')] %}
{{ 'UNION ALL' if place or run == 'b' or condition }}
  SELECT
    {{ place }} AS place, {{ name }} AS stat, '{{ over }}' AS over, '{{ run }}' AS run,
    count(value) AS n, avg(value) AS mean, var_samp(value) AS variance
  FROM (SELECT {{ finite(column) }} AS value FROM {{ run }}.stats {{ condition }})
{% endfor %}
{% endfor %}
{% endfor %}
)
SELECT
  a.stat, a.over,
  a.n AS n_a, b.n AS n_b,
  a.mean AS mean_a, b.mean AS mean_b,
  sqrt(a.variance) AS std_a, sqrt(b.variance) AS std_b,
  (b.mean - a.mean)
    / nullif(sqrt(((a.n - 1) * a.variance + (b.n - 1) * b.variance) / nullif(a.n + b.n - 2, 0)), 0) AS d
FROM moments AS a
JOIN moments AS b USING (place, over)
WHERE a.run = 'a' AND b.run = 'b'
ORDER BY place, over
