-- The entries of statistics files, in order, each with what stands before it: a file is the lines of its (group, stat)
-- one after another, and a closing brace. Input: `relation`, the moments; `top_groups`, the groups of which only the `top_k`
-- keys with the highest n are written (ties: the earlier row of the relation); `unit`, an expression.
WITH numbered AS (
  SELECT *, row_number() OVER () AS _row FROM {{ relation }}
),
placed AS (
  SELECT
    *,
    row_number() OVER (
      PARTITION BY "group", stat
      ORDER BY {% if top_groups %}CASE WHEN "group" IN {{ top_groups | lit }} THEN -n END, {% endif %}_row
    ) AS _place
  FROM numbered
),
measured AS (
  SELECT
    "group", stat, key, _place, n, nans, infinities,
    {{ unit }} AS _unit,
    coalesce(total, 0) AS total,
    coalesce(mean, 0) AS mean,
    CASE WHEN n > 1 THEN m2 / (n - 1) ELSE 0 END AS variance,
    -- Of nothing: the greatest and the least number, so that any other minimum and maximum wins over them.
    CASE WHEN n > 0 THEN min ELSE 1.7976931348623157e308 END AS min,
    CASE WHEN n > 0 THEN max ELSE -1.7976931348623157e308 END AS max
  FROM placed
  {% if top_groups %}
  WHERE "group" NOT IN {{ top_groups | lit }} OR _place <= {{ top_k }}
  {% endif %}
),
entries AS (
  SELECT
    "group", stat, key, _place, nans, infinities, _unit,
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
    || '}' AS line
FROM entries
ORDER BY "group", stat, _place
