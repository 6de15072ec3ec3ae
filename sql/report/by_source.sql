-- What became of the samples of each value of a column, which the table `sources` holds by sample.
SELECT
  source,
  count(*) AS rows_read,
  count(l._row) AS removed,
  count(*) FILTER (l._row IS NULL AND q._row IS NOT NULL) AS quarantined
FROM sources AS s
LEFT JOIN ledger AS l ON l._row = s._row
LEFT JOIN (SELECT DISTINCT _row FROM quarantine) AS q ON q._row = s._row
GROUP BY source
ORDER BY rows_read DESC, source NULLS LAST
