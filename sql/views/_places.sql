{% if lines %}
SELECT starts.first_row AS _first, file, line_offset AS _offset
FROM (SELECT first_row FROM files WHERE rows > 0 UNION SELECT first_row FROM lines) AS starts
ASOF LEFT JOIN (SELECT * FROM files WHERE rows > 0) AS files ON starts.first_row >= files.first_row
ASOF LEFT JOIN lines ON starts.first_row >= lines.first_row
{% else %}
SELECT first_row AS _first, file, CAST(NULL AS BIGINT) AS _offset FROM files WHERE rows > 0
{% endif %}
