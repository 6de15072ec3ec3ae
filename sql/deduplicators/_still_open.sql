-- Members of buckets that no sample so far is like; the representatives themselves are done. Copies have been compared now.
CREATE OR REPLACE TEMP TABLE open AS
SELECT open.* REPLACE (open._row AS first)
FROM open
JOIN (SELECT band, key, arg_min(_row, place) AS one FROM open GROUP BY ALL) AS chosen
  ON open.band = chosen.band AND open.key = chosen.key
WHERE open._row <> chosen.one
  AND NOT EXISTS (
    SELECT 1 FROM answered
    WHERE answered._row = open._row AND answered.via = if(open._row <> open.first, open.first, chosen.one)
  )
