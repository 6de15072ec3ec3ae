-- One row per evaluation set of the recipe: how many of its items are in samples, how much of each, in how many samples. An item is in a
-- sample from a score of 1 on.
WITH given AS (
  SELECT CAST(parameters AS JSON) -> 'sets' AS sets FROM steps WHERE operator = 'contamination_filter'
),
names AS (
  SELECT unnest(json_keys(sets)) AS evaluation_set FROM given WHERE json_type(sets) = 'OBJECT'
  UNION
  SELECT coalesce(nullif(regexp_extract(parse_filename(rtrim(path, '/')), '^[^.]*'), ''), 'set') FROM (
    SELECT unnest(CASE json_type(sets) WHEN 'ARRAY' THEN CAST(sets AS VARCHAR[]) ELSE [sets ->> '$'] END) AS path
    FROM given WHERE json_type(sets) <> 'OBJECT'
  )
),
found AS (
  SELECT evaluation_set, item, max(share) AS share, any_value(items_of_set) AS items, any_value(too_short_of_set) AS too_short
  FROM contamination WHERE score >= 1 GROUP BY evaluation_set, item
),
samples AS (
  SELECT evaluation_set, count(DISTINCT _row) AS samples, count(DISTINCT _row) FILTER (kept) AS samples_kept
  FROM contamination WHERE score >= 1 GROUP BY evaluation_set
)
SELECT
  evaluation_set,
  any_value(items) AS items,
  any_value(too_short) AS too_short,
  count(item) AS items_found,
  count(item) / any_value(items) AS found_share,
  round(avg(share), 4) AS mean_share,
  min(share) AS least_share,
  coalesce(any_value(samples.samples), 0) AS samples,
  coalesce(any_value(samples.samples_kept), 0) AS samples_kept
FROM names LEFT JOIN found USING (evaluation_set) LEFT JOIN samples USING (evaluation_set)
GROUP BY evaluation_set
ORDER BY items_found DESC, evaluation_set
