-- Samples with the same key: each is paired with the first of its group, so a group of n gives n - 1 pairs.
SELECT compared._row AS _row, groups.first AS via
FROM compared
JOIN (
  SELECT {{ key | default("key") }} AS key, min(_row) AS first
  FROM compared
  GROUP BY {{ key | default("key") }}
  HAVING count(*) > 1
) AS groups ON compared.{{ key | default("key") }} = groups.key
WHERE compared._row <> groups.first
