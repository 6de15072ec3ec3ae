-- Samples that each step removed: the nearest to their bound, of each of its reasons and of each source in turn.
WITH removals AS (
  SELECT
    l.step, l._row, l.value, l.bound, l.kept_instead, l.reason,
    if(s.kind = 'deduplicator', '', l.reason) AS kind,
    abs(l.value - l.bound) / greatest(abs(l.bound), 1e-9) AS distance
  FROM ledger AS l JOIN steps AS s ON s.step = l.step
), placed AS (
  {{ origins("removals") }}
), turns AS (
  SELECT *, row_number() OVER (PARTITION BY step, kind, source ORDER BY distance NULLS LAST, _row) AS turn FROM placed
)
SELECT step, _row, reason, value, bound, kept_instead
FROM turns
QUALIFY row_number() OVER (PARTITION BY step ORDER BY turn, distance NULLS LAST, _row) <= {{ limit }}
ORDER BY step, turn, distance NULLS LAST, _row
