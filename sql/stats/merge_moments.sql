-- Moments of parts merged, whatever their number, sizes and order: one row for each (group, key, stat). Input: `relation`,
-- any number of rows of moments for each of them (sql/stats/moments.sql; `mean_low` may be absent). With d = mean of a part - mean
-- of all: n = sum(n), mean = sum(n * mean) / n, M2 = sum(M2) + sum(n * d^2).
--
-- Sums are exact integers, as in moments.sql, so that they depend on no order.
WITH parts AS (
  SELECT CAST(NULL AS DOUBLE) AS mean_low WHERE FALSE
  UNION ALL BY NAME
  SELECT * FROM {{ relation }}
),
gathered AS (
  SELECT
    "group", key, stat,
    CAST(sum(n) AS BIGINT) AS n,
    CAST(sum(nans) AS BIGINT) AS nans,
    CAST(sum(infinities) AS BIGINT) AS infinities,
    min(min) AS min,
    max(max) AS max,
    count(*) FILTER (n > 0) AS _count,
    max(abs(mean)) AS _mean_most,
    max(abs(total)) AS _total_most,
    sum(total) AS _total_near,
    count(mean_low) FILTER (n > 0) = count(*) FILTER (n > 0) AS _exact,
    max(m2) AS _m2_most,
    list({n: n, mean: mean, low: coalesce(mean_low, 0), m2: m2, total: total}) FILTER (n > 0) AS _parts
  FROM parts
  GROUP BY "group", key, stat
),
-- Bits that a HUGEINT leaves for each of n values, and of one for each part.
ranged AS (
  SELECT *,
    123 - ceil(log2(greatest(n, 1))) AS _bits,
    123 - ceil(log2(greatest(_count, 1))) AS _bits_of_parts
  FROM gathered
),
scaled AS (
  SELECT *,
    pow(2.0, floor((_bits - ceil(log2(greatest(_mean_most, 5e-324)))) / 2)) AS _half,
    pow(2.0, floor((_bits_of_parts - ceil(log2(greatest(_total_most, 5e-324)))) / 2)) AS _half_total,
    pow(2.0, floor((_bits_of_parts - ceil(log2(greatest(_m2_most, 5e-324)))) / 2)) AS _half_m2
  FROM ranged
),
summed AS (
  SELECT *,
    list_sum(list_transform(_parts, lambda p: p.n * (
      TRY_CAST(p.mean * _half * _half AS HUGEINT) + TRY_CAST(p.low * _half * _half AS HUGEINT)
    ))) AS _sum,
    list_sum(list_transform(_parts, lambda p: TRY_CAST(p.total * _half_total * _half_total AS HUGEINT))) AS _sum_total,
    list_sum(list_transform(_parts, lambda p: TRY_CAST(p.m2 * _half_m2 * _half_m2 AS HUGEINT))) AS _sum_m2
  FROM scaled
),
near AS (
  SELECT *, CAST(_sum AS DOUBLE) / n / _half / _half AS _near FROM summed
),
left_over AS (
  SELECT *, CAST(_sum - n * TRY_CAST(_near * _half * _half AS HUGEINT) AS DOUBLE) / n / _half / _half AS _rest FROM near
),
centred AS (
  SELECT *,
    _near + _rest AS mean,
    _rest - (_near + _rest - _near) AS mean_low
  FROM left_over
),
apart AS (
  SELECT *,
    list_transform(_parts, lambda p: {n: p.n, d: (p.mean / 2 - mean / 2) + (p.low / 2 - mean_low / 2)}) AS _distances
  FROM centred
),
reached AS (
  SELECT *, list_max(list_transform(_distances, lambda p: abs(p.d))) AS _reach FROM apart
),
placed AS (
  SELECT *,
    CASE WHEN _reach > 0 THEN pow(2.0, floor(_bits / 2) - greatest(ceil(log2(_reach)) + 1, -900)) ELSE 1.0 END AS _unit
  FROM reached
),
spread AS (
  SELECT *,
    list_sum(list_transform(
      _distances, lambda p: TRY_CAST(CAST(p.n AS DOUBLE) * (p.d * 2 * _unit) * (p.d * 2 * _unit) AS HUGEINT)
    )) AS _between
  FROM placed
)
SELECT
  "group", key, stat, n,
  CASE WHEN isfinite(_mean_most) THEN mean ELSE _mean_most END AS mean,
  CASE
    WHEN isfinite(_m2_most) AND isfinite(_mean_most)
      THEN CAST(_sum_m2 AS DOUBLE) / _half_m2 / _half_m2 + CAST(_between AS DOUBLE) / _unit / _unit
    ELSE _m2_most
  END AS m2,
  min, max,
  CASE
    WHEN _exact AND isfinite(_mean_most) THEN CAST(_sum AS DOUBLE) / _half / _half
    WHEN isfinite(_total_most) THEN CAST(_sum_total AS DOUBLE) / _half_total / _half_total
    ELSE _total_near
  END AS total,
  nans, infinities,
  mean_low
FROM spread
