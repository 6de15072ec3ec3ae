-- The first lines and samples that could not be read or processed, with the beginning of what stands in the file.
SELECT file, line, step, operator, error, left(raw, {{ width }}) AS raw, CASE WHEN raw IS NULL THEN raw_bytes[1:{{ width }}] END AS bytes
FROM quarantine
ORDER BY _row, step
LIMIT {{ limit }}
