-- The pairs to audit: removed samples, or parts of them, with samples that stay. Within a source, samples are put in order by the size of their cluster,
-- the similarity by which they were matched, and a hash of their number, and every n-th is taken: a sample stratified by all three.
-- `_allotted`: wanted and removed samples of each source and step, and the source of each file. Large sources are thinned out
-- first, by the same hash.
WITH removed AS (
  SELECT
    d.*, a.source, a.wanted, a.removed AS of_source,
    md5_number_lower(concat(d._row, ' ', d.step, ' ' || d.unit)) / 18446744073709551616.0 AS draw
  FROM duplicates AS d
  ASOF JOIN (SELECT file, first_row FROM files WHERE rows > 0) AS f ON d._row >= f.first_row
  JOIN _allotted AS a ON a.step = d.step AND a.file = f.file
  WHERE {{ of }}
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
        CAST(10 * coalesce(jaccard, estimated_jaccard, 1 - distance / 64) AS INTEGER), draw, _row, unit
    ) AS place
  FROM sized
)
SELECT
  step, operator, _row, CASE WHEN unit IS NULL THEN kept ELSE coalesce(kept, via) END AS kept, via, source, size AS cluster_size,
  matched, estimated_jaccard, of_source, unit, length, copy_at
FROM placed
WHERE place * wanted // there > (place - 1) * wanted // there
ORDER BY step, _row, unit
