-- The finite values of each statistic, and their ranks: values that are the same share the mean of the ranks that they take.
-- Ranks are found once for each distinct value, of which most statistics have few.
WITH
{% for column in columns %}
ranked_{{ loop.index0 }} AS (
  SELECT _value, sum(n) OVER (ORDER BY _value) - (n - 1) / 2 AS place
  FROM (
    SELECT CAST({{ column }} AS DOUBLE) AS _value, CAST(count(*) AS DOUBLE) AS n
    FROM {{ relation }}
    WHERE isfinite(CAST({{ column }} AS DOUBLE))
    GROUP BY _value
  )
){{ ',' if not loop.last }}
{% endfor %}
SELECT
{% for column in columns %}
  ranked_{{ loop.index0 }}._value AS v{{ loop.index0 }}, ranked_{{ loop.index0 }}.place AS r{{ loop.index0 }}{{ ',' if not loop.last }}
{% endfor %}
FROM {{ relation }} AS samples
{% for column in columns %}
LEFT JOIN ranked_{{ loop.index0 }} ON ranked_{{ loop.index0 }}._value = CAST(samples.{{ column }} AS DOUBLE)
{% endfor %}
