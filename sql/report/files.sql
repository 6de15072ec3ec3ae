-- What became of the samples of each input file.
WITH pieces AS (
  SELECT file, first_row, first_row + rows AS next_row, rows FROM files WHERE rows > 0
), gone AS (
  SELECT p.file, count(*) AS removed
  FROM ledger AS l ASOF JOIN pieces AS p ON l._row >= p.first_row
  GROUP BY p.file
), broken AS (
  SELECT p.file, count(*) AS quarantined
  FROM quarantine AS q ASOF JOIN pieces AS p ON q._row >= p.first_row
  GROUP BY p.file
)
SELECT
  file AS source,
  CAST(sum(rows) AS BIGINT) AS rows_read,
  coalesce(any_value(removed), 0) AS removed,
  coalesce(any_value(quarantined), 0) AS quarantined
FROM pieces LEFT JOIN gone USING (file) LEFT JOIN broken USING (file)
GROUP BY file
ORDER BY min(first_row)
