-- One row per input line or sample that could not be read (step 0) or processed, with its raw bytes.
CREATE OR REPLACE TABLE quarantine AS
SELECT
  shards.first_row + parts._row AS _row, parts.file, shards.first_line + parts.line AS line, parts.step, parts.operator,
  parts.error, try(decode(parts.raw)) AS raw, parts.raw AS raw_bytes
FROM broken AS parts
JOIN shards ON shards.shard = CAST(regexp_extract(parts.filename, '([0-9]+)[.]quarantine[.]parquet$', 1) AS BIGINT)
ORDER BY 1
