-- Some of the samples that each hub of `_hubs` connects, chosen by a hash of their number.
SELECT step, via, _row
FROM duplicates
SEMI JOIN _hubs USING (step, via)
WHERE unit IS NULL
QUALIFY row_number() OVER (PARTITION BY step, via ORDER BY md5_number_lower(concat(_row, ' ', step)), _row) <= {{ members }}
ORDER BY step, via, _row
