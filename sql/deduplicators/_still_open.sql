-- Members of buckets that no representative so far is like; the representatives themselves are done.
CREATE OR REPLACE TEMP TABLE open AS
SELECT open.*
FROM open
JOIN (SELECT band, key, arg_min(_row, place) AS one FROM open GROUP BY ALL) AS chosen
  ON open.band = chosen.band AND open.key = chosen.key
WHERE open._row <> chosen.one
  AND NOT EXISTS (SELECT 1 FROM answered WHERE answered._row = open._row AND answered.via = chosen.one)
