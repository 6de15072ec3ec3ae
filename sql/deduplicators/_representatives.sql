-- Pairs to compare now: every member of a bucket with the first one of its content, which is compared with the one of least
-- place that is left in the bucket. Samples of an index are not compared with each other.
SELECT open._row, if(open._row <> open.first, open.first, chosen.one) AS via, min(open.band) AS matched
FROM open
JOIN (SELECT band, key, arg_min(_row, place) AS one FROM open GROUP BY ALL) AS chosen
  ON open.band = chosen.band AND open.key = chosen.key
WHERE open._row <> chosen.one AND open._row >= 0
GROUP BY ALL
