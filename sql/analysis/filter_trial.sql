-- Samples that reach a filter, and their bytes, by fate, by other steps that remove them, by the decision in the run and the one
-- with other values: NULL for a sample that they keep, else the reason.
SELECT
  _fate AS fate,
  _others AS others,
  _in_force AS in_force,
  CASE WHEN NOT coalesce({{ condition }}, FALSE) THEN {{ reason }} END AS reason,
  count(*) AS rows,
  coalesce(sum(_bytes_here), 0) AS bytes_here,
  coalesce(sum(_bytes_end), 0) AS bytes_end
FROM filter_rows
GROUP BY ALL
