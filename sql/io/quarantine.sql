-- Samples that could not be read.
CREATE OR REPLACE TABLE quarantine AS
SELECT facts._row, batch._file AS file, facts._bad AS error, {{ raw }} AS raw
FROM {{ facts }}{{ ' AS facts' if facts != 'facts' }} JOIN batch ON batch._i = facts._row
WHERE facts._bad IS NOT NULL
ORDER BY facts._row;
DELETE FROM {{ facts }} WHERE _bad IS NOT NULL
