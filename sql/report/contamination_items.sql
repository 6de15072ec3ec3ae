-- The items of evaluation sets with a copy in most samples, with the first samples.
SELECT
  evaluation_set,
  item,
  max(share) AS share,
  count(DISTINCT _row) AS samples,
  list_sort(list(DISTINCT _row))[:{{ rows }}] AS rows
FROM contamination
WHERE score >= 1
GROUP BY evaluation_set, item
ORDER BY samples DESC, evaluation_set, item
LIMIT {{ limit }}
