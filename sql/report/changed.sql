-- Samples that a step changed: the first of each source in turn.
WITH changed AS (
  SELECT _row FROM row_outcomes WHERE {{ flag }}
), placed AS (
  {{ origins("changed") }}
), turns AS (
  SELECT _row, row_number() OVER (PARTITION BY source ORDER BY _row) AS turn FROM placed
)
SELECT _row FROM turns ORDER BY turn, _row LIMIT {{ limit }}
