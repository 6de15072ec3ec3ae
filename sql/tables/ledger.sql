-- One row per sample that a step removed: where, why, and by which value against which bound.
CREATE OR REPLACE TABLE ledger AS
SELECT
  _row,
  _dropped AS step,
  {{ operator }} AS operator,
  {{ where }} AS recipe_line,
  {{ reason }} AS reason,
  {{ statistic }} AS statistic,
  {{ value }} AS value,
  {{ bound }} AS bound,
  CAST(NULL AS BIGINT) AS kept_instead
FROM {{ facts }}
WHERE _dropped IS NOT NULL
ORDER BY _row
