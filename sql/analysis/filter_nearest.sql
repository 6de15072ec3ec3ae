-- Samples nearest to a bound, on one side of it; of equal values, those that a digest of their number puts first.
SELECT _row AS row, {{ column }} AS value, _fate AS fate, _others AS others
FROM filter_rows
WHERE {{ 'NOT ' if not keeps }}coalesce({{ condition }}, FALSE) AND {{ column }} {{ compared }} {{ bound }}
ORDER BY abs(CAST({{ column }} AS DOUBLE) - {{ bound }}), hash(_row), _row
LIMIT {{ limit }}
