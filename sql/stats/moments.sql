-- Moments of values: one row for each (group, key, stat). Input: `relation` (group, key, stat, value DOUBLE); NULL is no value.
-- NaN and infinities are counted apart and enter nothing else. 8 bytes of memory for each value.
--
-- Sums are exact, so that they depend on no order: a value is scaled by a power of two to an integer of as many bits as n of
-- them leave in a HUGEINT. A power is applied in two halves, since 2^1198 is no DOUBLE. The mean is `mean` + `mean_low`, the nearest
-- DOUBLE and what it leaves: between values of 1e15 the next DOUBLE is 0.125 away, too far for an exact merge.
WITH gathered AS (
  SELECT
    "group", key, stat,
    count(*) FILTER (isfinite(value)) AS n,
    count(*) FILTER (isnan(value)) AS nans,
    count(*) FILTER (isinf(value)) AS infinities,
    min(value) FILTER (isfinite(value)) AS min,
    max(value) FILTER (isfinite(value)) AS max,
    list(value) FILTER (isfinite(value)) AS _values
  FROM {{ relation }}
  WHERE value IS NOT NULL
  GROUP BY ALL
),
ranged AS (
  SELECT *, 123 - ceil(log2(greatest(n, 1))) AS _bits, greatest(abs(min), abs(max), 5e-324) AS _most FROM gathered
),
scaled AS (
  SELECT *, pow(2.0, floor((_bits - ceil(log2(_most))) / 2)) AS _half FROM ranged
),
summed AS (
  SELECT *, list_sum(list_transform(_values, lambda x: CAST(x * _half * _half AS HUGEINT))) AS _sum FROM scaled
),
near AS (
  SELECT *, CAST(_sum AS DOUBLE) / n / _half / _half AS _near FROM summed
),
left_over AS (
  SELECT *, CAST(_sum - n * CAST(_near * _half * _half AS HUGEINT) AS DOUBLE) / n / _half / _half AS _rest FROM near
),
centred AS (
  SELECT *,
    CASE WHEN min = max THEN min ELSE _near + _rest END AS mean,
    CASE WHEN min = max THEN 0 ELSE _rest - (mean - _near) END AS mean_low
  FROM left_over
),
-- Distances from the mean are scaled likewise, by a power of two that makes their squares as large as a sum of n allows.
reached AS (
  SELECT *, greatest(max / 2 - mean / 2, mean / 2 - min / 2) AS _reach FROM centred
),
placed AS (
  SELECT *,
    CASE WHEN _reach > 0 THEN pow(2.0, floor(_bits / 2) - greatest(ceil(log2(_reach)) + 1, -900)) ELSE 1.0 END AS _unit
  FROM reached
),
centres AS (
  SELECT *, mean * _unit AS _centre FROM placed
),
spread AS (
  SELECT *,
    list_sum(list_transform(_values, lambda x: CAST((x * _unit - _centre) * (x * _unit - _centre) AS HUGEINT))) AS _squares
  FROM centres
)
SELECT
  "group", key, stat, n, mean,
  CASE
    WHEN n = 0 THEN NULL
    WHEN min = max THEN 0.0
    ELSE greatest(CAST(_squares AS DOUBLE) - n * (mean_low * _unit) * (mean_low * _unit), 0.0) / _unit / _unit
  END AS m2,
  min, max,
  CASE WHEN n > 0 THEN CAST(_sum AS DOUBLE) / _half / _half END AS total,
  nans, infinities,
  mean_low
FROM spread
