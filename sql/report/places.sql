-- File and line of rows.
WITH wanted AS (
  SELECT unnest([{{ rows | join(', ') }}]::BIGINT[]) AS _row
)
SELECT _row, file, _row + _offset AS line FROM wanted ASOF LEFT JOIN ({{ places }}) AS p ON wanted._row >= p._first
