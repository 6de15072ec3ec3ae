-- Traced samples of each step: of those that it removed the nearest to their bound, of each reason and source in turn; of
-- those that it changed the first of each source in turn.
WITH numbered AS (
  SELECT
    t.step, t._row, t.kind, l.reason, l.value, l.bound, l.kept_instead, l._row IS NOT NULL AS removed,
    if(t.kind = 'deduplicator', '', l.reason) AS why,
    abs(l.value - l.bound) / greatest(abs(l.bound), 1e-9) AS distance
  FROM trace AS t LEFT JOIN ledger AS l ON l._row = t._row AND l.step = t.step
), placed AS (
  {{ origins("numbered") }}
), turns AS (
  SELECT *, row_number() OVER (PARTITION BY step, removed, why, source ORDER BY distance NULLS LAST, _row) AS turn FROM placed
), chosen AS (
  SELECT * FROM turns
  QUALIFY row_number() OVER (PARTITION BY step, removed ORDER BY turn, distance NULLS LAST, _row) <= {{ limit }}
    {% if rows %}OR (_row, step) IN ({{ rows | join(', ') }}){% endif %}

)
SELECT
  c.step, c._row, c.removed, c.reason, c.value, c.bound, c.kept_instead,
  CASE WHEN strlen(t.original_text) > {{ long }} THEN left(t.original_text, {{ window }}) ELSE t.original_text END AS original_text,
  CASE WHEN strlen(t.processed_text) > {{ long }} THEN left(t.processed_text, {{ window }}) ELSE t.processed_text END AS processed_text,
  CASE WHEN strlen(t.record) <= {{ long }} THEN t.record END AS record
FROM chosen AS c JOIN trace AS t ON t.step = c.step AND t._row = c._row
ORDER BY c.step, c.turn, c.distance NULLS LAST, c._row
