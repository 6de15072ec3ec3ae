-- What the workers wrote about every sample that could be read, under its number in the whole input.
CREATE OR REPLACE TEMP TABLE facts AS
SELECT shards.first_row + parts._row AS _row, parts.* EXCLUDE (_row, filename)
FROM read_parquet({{ files }}, filename = true) AS parts
JOIN shards ON shards.facts = parts.filename
ORDER BY 1
