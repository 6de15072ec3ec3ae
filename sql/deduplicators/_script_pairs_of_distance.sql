-- Pairs of samples that match: each with the first of the same SimHash; then these, where at most {{ distance }} bits differ.
-- Of pairs that connect the same samples hamming_pairs gives some only, as many as it takes.
CREATE OR REPLACE TEMP TABLE pairs AS
WITH compared AS (SELECT _row, simhash AS key FROM marks),
firsts AS (SELECT simhash, min(_row) AS _row FROM marks GROUP BY simhash),
near AS (
  SELECT unnest(hamming_pairs(list(simhash ORDER BY simhash), {{ blocks }}, {{ distance }})) AS pair FROM firsts
)
SELECT _row, via, 0 AS how, CAST(NULL AS DOUBLE) AS jaccard
FROM ({{ same_key }})
UNION ALL
SELECT
  greatest(one._row, other._row), least(one._row, other._row), CAST(bit_count(xor(pair.a, pair.b)) AS INTEGER), NULL
FROM near
JOIN firsts AS one ON one.simhash = pair.a
JOIN firsts AS other ON other.simhash = pair.b
