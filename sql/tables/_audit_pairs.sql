-- The pairs to audit: removed samples with those that stay. Within a source, samples are put in order by the size of their cluster,
-- the similarity by which they were matched, and a hash of their number, and every n-th is taken: a sample stratified by all three.
-- `_allotted`: wanted and removed samples of each source and step, and the source of each file. Large sources are thinned out
-- first, by the same hash.
WITH removed AS (
  SELECT
    d.*, a.source, a.wanted, a.removed AS of_source,
    md5_number_lower(concat(d._row, ' ', d.step)) / 18446744073709551616.0 AS draw
  FROM duplicates AS d
  ASOF JOIN (SELECT file, first_row FROM files WHERE rows > 0) AS f ON d._row >= f.first_row
  JOIN _allotted AS a ON a.step = d.step AND a.file = f.file
  WHERE d.unit IS NULL AND d.kept IS NOT NULL
), thinned AS (
  SELECT * FROM removed WHERE draw < 50 * wanted / of_source
), sized AS (
  SELECT t.*, c.size
  FROM thinned AS t
  LEFT JOIN (SELECT step, _row, size FROM clusters SEMI JOIN thinned USING (step, _row)) AS c ON c.step = t.step AND c._row = t._row
), placed AS (
  SELECT
    *,
    count(*) OVER (PARTITION BY step, source) AS there,
    row_number() OVER (
      PARTITION BY step, source
      ORDER BY
        CAST(log2(size) AS INTEGER), via = kept,
        CAST(10 * coalesce(jaccard, estimated_jaccard, 1 - distance / 64) AS INTEGER), draw, _row
    ) AS place
  FROM sized
)
SELECT step, operator, _row, kept, via, source, size AS cluster_size, matched, estimated_jaccard, of_source
FROM placed
WHERE place * wanted // there > (place - 1) * wanted // there
ORDER BY step, _row
