-- Every value of the statistics in long form: one row per group that a sample belongs to and statistic.
{% for group, key in groups %}
{% set outer = loop %}
{% for name, column in columns %}
{{ 'UNION ALL' if not (outer.first and loop.first) }}
SELECT {{ group }} AS "group", {{ key }} AS key, {{ name }} AS stat, CAST({{ column }} AS DOUBLE) AS value
FROM {{ relation }}
{% endfor %}
{% else %}
SELECT '' AS "group", '' AS key, '' AS stat, 0::DOUBLE AS value WHERE FALSE
{% endfor %}
