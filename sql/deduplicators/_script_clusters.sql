INSERT INTO clusters BY NAME
SELECT
  {{ step }} AS step, {{ name | lit }} AS operator, dense_rank() OVER (ORDER BY kept) - 1 AS cluster, _row,
  _row = kept AS survivor, size
FROM clustered
ORDER BY cluster, _row
