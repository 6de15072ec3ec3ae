-- Pairs of samples that share a band and whose true Jaccard similarity is at least {{ threshold | lit }}. Copies in a bucket are
-- compared with the first of them, the others with one of all; those that are not like it with one of those, and so on. Their
-- shingles choose which.
CREATE OR REPLACE TEMP TABLE pairs AS
WITH RECURSIVE compared AS (
  SELECT open.*, jaccard(one.shingles, other.shingles) AS jaccard
  FROM (
    SELECT
      1 AS round, band, key, _row, content,
      if(_row <> first_value(_row) OVER copies, first_value(_row) OVER copies, first_value(_row) OVER bucket) AS via
    FROM buckets
    JOIN (SELECT _row, {{ content }} AS content FROM shingles) USING (_row)
    WINDOW
      bucket AS (PARTITION BY band, key ORDER BY content, _row),
      copies AS (PARTITION BY band, key, content ORDER BY _row)
  ) AS open
  JOIN shingles AS one ON one._row = open._row
  JOIN shingles AS other ON other._row = open.via
  UNION ALL
  SELECT open.*, jaccard(one.shingles, other.shingles)
  FROM (
    SELECT round + 1 AS round, band, key, _row, content, first_value(_row) OVER bucket AS via
    FROM compared
    WHERE round < {{ rounds }} AND _row <> via AND NOT coalesce(jaccard >= {{ threshold | lit }}, FALSE)
    WINDOW bucket AS (PARTITION BY band, key ORDER BY content, _row)
  ) AS open
  JOIN shingles AS one ON one._row = open._row
  JOIN shingles AS other ON other._row = open.via
)
SELECT _row, via, CAST(min(band) AS INTEGER) AS how, jaccard
FROM compared
WHERE _row <> via AND jaccard >= {{ threshold | lit }}
GROUP BY ALL
