-- Number of samples that each step has removed of each input file; those whose kept sample is only in an index are left out.
SELECT d.step, f.file, count(*) AS removed
FROM duplicates AS d
ASOF JOIN (SELECT file, first_row FROM files WHERE rows > 0) AS f ON d._row >= f.first_row
WHERE d.unit IS NULL AND d.step IN {{ steps | lit }} AND d.kept IS NOT NULL
GROUP BY ALL
ORDER BY d.step, removed DESC, f.file
