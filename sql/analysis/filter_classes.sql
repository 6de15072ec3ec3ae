-- Samples that no value of a parameter can tell apart, counted: scanned in place of the samples where they are fewer.
CREATE OR REPLACE TEMP TABLE filter_classes AS
SELECT
  {% for column in columns %}
  {{ column }},
  {% endfor %}
  _kind,
  count(*) AS _n,
  CAST(sum(_bytes_here) AS BIGINT) AS _bytes_here,
  CAST(sum(_bytes_end) AS BIGINT) AS _bytes_end
FROM filter_rows
GROUP BY ALL
