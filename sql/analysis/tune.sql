-- Rows and bytes that each of the tried conditions keeps: by itself, together with all other steps, and of those that
-- the step has removed, so that nobody knows what later steps would say of them.
WITH judged AS (
  SELECT
    n, bytes_here, bytes_end, fate,
    unnest(range({{ conditions | length }})) AS number,
    unnest([{% for condition in conditions %}coalesce({{ condition }}, FALSE){{ ', ' if not loop.last }}{% endfor %}]) AS keeps
  FROM classes
)
SELECT
  number,
  coalesce(sum(n) FILTER (keeps), 0) AS alone_rows,
  coalesce(sum(bytes_here) FILTER (keeps), 0) AS alone_bytes,
  coalesce(sum(n) FILTER (keeps AND fate = 'kept'), 0) AS kept_rows,
  coalesce(sum(bytes_end) FILTER (keeps AND fate = 'kept'), 0) AS kept_bytes,
  coalesce(sum(n) FILTER (keeps AND fate = 'here'), 0) AS here_rows,
  coalesce(sum(bytes_here) FILTER (keeps AND fate = 'here'), 0) AS here_bytes
FROM judged
GROUP BY number
ORDER BY number
