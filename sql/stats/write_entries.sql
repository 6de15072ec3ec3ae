-- The entries of statistics files, in order, each with what stands before it: a file is the lines of its (group, stat)
-- one after another, and a closing brace. Input: `relation`, the moments; `top_groups`, the groups of which only the `top_k`
-- keys with the highest n are written (ties: the earlier row of the relation); `unit`, an expression. placed: the rows come in
-- their order, file by file, with their place in the file from 1 as `_place`.
WITH given AS (
  SELECT CAST(NULL AS DOUBLE) AS mean_low WHERE FALSE
  UNION ALL BY NAME
  SELECT * FROM {{ relation }}
),
{% if not placed %}
numbered AS (
  SELECT *, row_number() OVER () AS _row FROM given
),
ranked AS (
  SELECT
    *,
    row_number() OVER (
      PARTITION BY "group", stat
      ORDER BY {% if top_groups %}CASE WHEN "group" IN {{ top_groups | lit }} THEN -n END, {% endif %}_row
    ) AS _place
  FROM numbered
),
{% endif %}
measured AS (
  SELECT
    "group", stat, key, _place, n, nans, infinities,
    {{ unit }} AS _unit,
    -- JSON has no infinity: what is beyond the largest number is written as that.
    greatest(least(coalesce(total, 0), 1.7976931348623157e308), -1.7976931348623157e308) AS total,
    coalesce(mean, 0) AS mean,
    CASE WHEN n > 1 THEN least(m2 / (n - 1), 1.7976931348623157e308) ELSE 0 END AS variance,
    -- Of nothing: the greatest and the least number, so that any other minimum and maximum wins over them.
    CASE WHEN n > 0 THEN min ELSE 1.7976931348623157e308 END AS min,
    CASE WHEN n > 0 THEN max ELSE -1.7976931348623157e308 END AS max,
    coalesce(mean_low, 0) AS mean_low
  FROM {{ 'given' if placed else 'ranked' }}
  {% if top_groups %}
  WHERE "group" NOT IN {{ top_groups | lit }} OR _place <= {{ top_k }}
  {% endif %}
),
entries AS (
  SELECT
    "group", stat, key, _place, nans, infinities, _unit, variance, mean_low,
    CASE
      WHEN mean = min AND mean = max AND variance = 0 THEN to_json({total: total, n: n, mean: mean})
      ELSE to_json({total: total, n: n, mean: mean, variance: variance, std_dev: sqrt(variance), min: min, max: max})
    END AS entry
  FROM measured
)
SELECT
  "group",
  stat,
  CASE WHEN _place = 1 THEN '{' ELSE ',' || chr(10) END || json_quote(coalesce(key, '')) || ':' || left(entry, -1)
    || CASE WHEN _unit = 'doc' THEN '' ELSE ',"unit":' || json_quote(_unit) END
    || CASE WHEN nans > 0 THEN ',"nans":' || nans ELSE '' END
    || CASE WHEN infinities > 0 THEN ',"infinities":' || infinities ELSE '' END
    -- Only where it affects a merge: against the spread it is mostly nothing.
    || CASE WHEN abs(mean_low) > 1e-14 * sqrt(variance) THEN ',"mean_low":' || to_json(mean_low) ELSE '' END
    || '}' AS line
FROM entries
{% if not placed %}
ORDER BY "group", stat, _place
{% endif %}
