-- The first lines and samples that could not be read or processed, with the beginning of what stands in the file.
SELECT
  file, line, q.step, operator, error,
  CASE WHEN raw IS NULL THEN CAST(raw_bytes[1:{{ width }}] AS VARCHAR) ELSE left(raw, {{ width }}) END AS raw
FROM quarantine AS q
ORDER BY _row, q.step
LIMIT {{ limit }}
