-- Pairs of samples that match: each with the first of those that share a band with it.
CREATE OR REPLACE TEMP TABLE pairs AS
SELECT
  _row, min(_row) OVER (PARTITION BY band, key) AS via, CAST(band AS INTEGER) AS how, CAST(NULL AS DOUBLE) AS jaccard
FROM buckets
QUALIFY _row <> via
