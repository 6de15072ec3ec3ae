-- Samples that share a band with others, by band.
CREATE OR REPLACE TEMP TABLE buckets AS
SELECT band, key, _row
FROM (SELECT generate_subscripts(bands, 1) - 1 AS band, unnest(bands) AS key, _row FROM marks)
QUALIFY count(*) OVER (PARTITION BY band, key) > 1
