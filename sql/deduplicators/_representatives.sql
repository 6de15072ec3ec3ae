-- Pairs to compare now: every member of a bucket with the first that is left in it.
SELECT open._row, firsts.first AS via, min(open.band) AS matched
FROM open
JOIN (SELECT band, key, min(_row) AS first FROM open GROUP BY ALL) AS firsts
  ON open.band = firsts.band AND open.key = firsts.key
WHERE open._row <> firsts.first
GROUP BY ALL
