-- The samples that stay, in input order: a line whose text did not change is written as it was.
COPY (
  SELECT {{ line }} AS line
  FROM batch JOIN facts ON facts._row = batch._i
  WHERE _dropped IS NULL
  ORDER BY _i
) TO {{ path | lit }} (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01')
