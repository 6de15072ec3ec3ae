{# Source of each row of `rows`: its input file, or the input's column `source` where that was counted. #}
SELECT r.*, {% if by_column %}coalesce(s.source, f.file){% else %}f.file{% endif %} AS source
FROM {{ rows }} AS r
ASOF LEFT JOIN (SELECT file, first_row FROM files WHERE rows > 0) AS f ON r._row >= f.first_row
{% if by_column %}
LEFT JOIN sources AS s ON s._row = r._row
{% endif %}
