CREATE OR REPLACE MACRO input_samples(files := {{ files | lit }}) AS TABLE
{% if reason %}
SELECT CAST(NULL AS BIGINT) AS _row, CAST(NULL AS JSON) AS sample WHERE error({{ reason | lit }})
{% else %}
SELECT i._row, CASE WHEN u.unchanged AND strlen({{ text }}) = r._bytes_0 THEN i.sample END AS sample
FROM (SELECT row_number() OVER () - 1 AS _row, {{ sample }} AS sample FROM {{ source }}) AS i
JOIN row_outcomes AS r ON r._row = i._row
CROSS JOIN (
    SELECT files <> {{ files | lit }} OR max(epoch_us(last_modified)) <= {{ latest }} AS unchanged FROM read_blob(files)
) AS u
{% endif %}
