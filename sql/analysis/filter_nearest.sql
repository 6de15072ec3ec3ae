-- Samples nearest to a bound, on one side of it; of equal values, those that a digest of their number puts first.
WITH nearest AS (
  SELECT _row, {{ column }} AS value, _kind
  FROM filter_rows
  WHERE {{ 'NOT ' if not keeps }}coalesce({{ condition }}, FALSE) AND {{ column }} {{ compared }} {{ bound }} AND {{ among }}
  ORDER BY abs(CAST({{ column }} AS DOUBLE) - {{ bound }}), hash(_row), _row
  LIMIT {{ limit }}
)
SELECT _row AS row, value, _fate AS fate, _others AS others
FROM nearest
JOIN filter_kinds USING (_kind)
ORDER BY abs(CAST(value AS DOUBLE) - {{ bound }}), hash(_row), _row
