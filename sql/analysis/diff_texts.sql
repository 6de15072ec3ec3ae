-- Rows that both runs kept and whose exported texts differ, with their places in the exports: the k-th sample there is the
-- k-th kept row.
WITH
{% for run in ['a', 'b'] %}
kept_{{ run }} AS (
  SELECT kept._row, kept.place, texts_{{ run }}.digest
  FROM (SELECT _row, row_number() OVER (ORDER BY _row) - 1 AS place FROM {{ run }}.stats WHERE kept) AS kept
  JOIN texts_{{ run }} ON texts_{{ run }}.place = kept.place
){{ ',' if not loop.last }}
{% endfor %}
SELECT
  count(*) AS compared,
  count(*) FILTER (WHERE kept_a.digest IS DISTINCT FROM kept_b.digest) AS differing,
  coalesce(min([_row, kept_a.place, kept_b.place], {{ limit }}) FILTER (WHERE kept_a.digest IS DISTINCT FROM kept_b.digest), [])
    AS examples
FROM kept_a JOIN kept_b USING (_row)
