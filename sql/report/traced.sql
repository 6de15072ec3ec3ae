-- Traced samples: the first that each step changed, and of those that it removed the first of each reason in turn.
WITH numbered AS (
  SELECT
    t.step, t._row, t.kind, l.reason, l.value, l.bound, l.kept_instead, l._row IS NOT NULL AS removed,
    row_number() OVER (PARTITION BY t.step, l._row IS NULL, l.reason ORDER BY t._row) AS turn
  FROM trace AS t LEFT JOIN ledger AS l ON l._row = t._row AND l.step = t.step
), chosen AS (
  SELECT * FROM numbered
  QUALIFY row_number() OVER (PARTITION BY step, removed ORDER BY turn, _row) <= {{ limit }}
)
SELECT
  c.step, c._row, c.removed, c.reason, c.value, c.bound, c.kept_instead,
  CASE WHEN strlen(t.original_text) > {{ long }} THEN left(t.original_text, {{ window }}) ELSE t.original_text END AS original_text,
  CASE WHEN strlen(t.processed_text) > {{ long }} THEN left(t.processed_text, {{ window }}) ELSE t.processed_text END AS processed_text
FROM chosen AS c JOIN trace AS t ON t.step = c.step AND t._row = c._row
ORDER BY c.step, c._row
