-- Samples that share a band with others. For those of an index a number that their signature gives, since their texts are gone.
SELECT members._row, CASE WHEN remembered._row IS NULL THEN 0 ELSE md5_number_lower(remembered.signature) END AS content
FROM (SELECT DISTINCT _row FROM buckets) AS members
LEFT JOIN (SELECT _row, signature FROM marks WHERE _row < 0) AS remembered ON remembered._row = members._row
