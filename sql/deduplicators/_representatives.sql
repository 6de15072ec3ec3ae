-- Pairs to compare now: every member of a bucket with the one of least place that is left in it.
SELECT open._row, chosen.one AS via, min(open.band) AS matched
FROM open
JOIN (SELECT band, key, arg_min(_row, place) AS one FROM open GROUP BY ALL) AS chosen
  ON open.band = chosen.band AND open.key = chosen.key
WHERE open._row <> chosen.one
GROUP BY ALL
