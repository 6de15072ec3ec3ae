-- Members of buckets that no representative so far is like; the representatives themselves are done.
CREATE OR REPLACE TEMP TABLE open AS
SELECT open.*
FROM open
JOIN (SELECT band, key, min(_row) AS first FROM open GROUP BY ALL) AS firsts
  ON open.band = firsts.band AND open.key = firsts.key
WHERE open._row <> firsts.first
  AND NOT EXISTS (SELECT 1 FROM answered WHERE answered._row = open._row AND answered.via = firsts.first)
