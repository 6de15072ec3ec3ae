-- Rows and bytes that each of the tried conditions keeps: by itself, together with all other steps, and of those that
-- the step has removed, so that nobody knows what later steps would say of them.
{% for condition in conditions %}
{{ 'UNION ALL' if not loop.first }}
SELECT
  {{ loop.index0 }} AS number,
  coalesce(sum(n), 0) AS alone_rows,
  coalesce(sum(bytes_here), 0) AS alone_bytes,
  coalesce(sum(n) FILTER (fate = 'kept'), 0) AS kept_rows,
  coalesce(sum(bytes_end) FILTER (fate = 'kept'), 0) AS kept_bytes,
  coalesce(sum(n) FILTER (fate = 'here'), 0) AS here_rows,
  coalesce(sum(bytes_here) FILTER (fate = 'here'), 0) AS here_bytes
FROM classes
WHERE coalesce({{ condition }}, FALSE)
{% endfor %}
ORDER BY number
