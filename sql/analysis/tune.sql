-- Rows and bytes that each of the tried conditions keeps: by itself, together with all other steps, and of those that
-- the step has removed, so that nobody knows what later steps would say of them.
WITH judged AS (
  SELECT
    _n, _bytes_here, _bytes_end, _fate,
    unnest(range({{ conditions | length }})) AS _number,
    unnest([{% for condition in conditions %}coalesce({{ condition }}, FALSE){{ ', ' if not loop.last }}{% endfor %}]) AS _keeps
  FROM classes
)
SELECT
  _number AS number,
  coalesce(sum(_n) FILTER (_keeps), 0) AS alone_rows,
  coalesce(sum(_bytes_here) FILTER (_keeps), 0) AS alone_bytes,
  coalesce(sum(_n) FILTER (_keeps AND _fate = 'kept'), 0) AS kept_rows,
  coalesce(sum(_bytes_end) FILTER (_keeps AND _fate = 'kept'), 0) AS kept_bytes,
  coalesce(sum(_n) FILTER (_keeps AND _fate = 'here'), 0) AS here_rows,
  coalesce(sum(_bytes_here) FILTER (_keeps AND _fate = 'here'), 0) AS here_bytes
FROM judged
GROUP BY _number
ORDER BY _number
