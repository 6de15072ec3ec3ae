-- What became of the samples of each value of a column, which the table `sources` holds by sample. A line that could not be
-- read at all has no value.
WITH broken AS (
  SELECT DISTINCT _row FROM quarantine
), known AS (
  SELECT _row, source FROM sources
  UNION ALL
  SELECT _row, NULL FROM broken ANTI JOIN sources USING (_row)
)
SELECT
  source,
  count(*) AS rows_read,
  count(ledger._row) AS removed,
  count(broken._row) AS quarantined
FROM known LEFT JOIN ledger USING (_row) LEFT JOIN broken USING (_row)
GROUP BY source
ORDER BY rows_read DESC, source NULLS LAST
