-- Number of samples, or of parts of them, that each step has removed of each input file; of the rows of `duplicates` that are drawn from.
SELECT d.step, f.file, count(*) AS removed
FROM duplicates AS d
ASOF JOIN (SELECT file, first_row FROM files WHERE rows > 0) AS f ON d._row >= f.first_row
WHERE d.step IN {{ steps | lit }} AND {{ of }}
GROUP BY ALL
ORDER BY d.step, removed DESC, f.file
