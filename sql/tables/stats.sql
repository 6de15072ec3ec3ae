-- One row per sample that was read: every statistic, removed samples included. NULL: removed before it was computed.
CREATE OR REPLACE TABLE stats AS
SELECT _row, _dropped IS NULL AS kept{% for column in columns %}, {{ column }}{% endfor %}

FROM {{ facts }}
{% if not ordered %}
ORDER BY _row
{% endif %}
