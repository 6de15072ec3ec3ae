-- Samples that reach a filter, and their bytes, by fate, by other steps that remove them, by the decision in the run and the one
-- with other values: NULL for a sample that they keep, else the reason.
WITH counted AS (
  SELECT
    _kind,
    CASE WHEN NOT coalesce({{ condition }}, FALSE) THEN {{ reason }} END AS reason,
    sum(_n) AS rows,
    coalesce(sum(_bytes_here), 0) AS bytes_here,
    coalesce(sum(_bytes_end), 0) AS bytes_end
  FROM filter_classes
  GROUP BY ALL
)
SELECT _fate AS fate, _others AS others, _in_force AS in_force, reason, rows, bytes_here, bytes_end
FROM counted
JOIN filter_kinds USING (_kind)
