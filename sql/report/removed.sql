-- The first samples that each step removed, of each of its reasons in turn.
SELECT step, _row, reason, value, bound, kept_instead
FROM (SELECT *, row_number() OVER (PARTITION BY step, reason ORDER BY _row) AS turn FROM ledger)
QUALIFY row_number() OVER (PARTITION BY step ORDER BY turn, _row) <= {{ limit }}
ORDER BY step, _row
