-- What became of each sample, besides its statistics: what a change of bounds is decided by without any text.
CREATE OR REPLACE TABLE fates AS
SELECT *{% if stats %} EXCLUDE ({{ stats | join(', ') }}){% endif %}

FROM {{ facts }}
{% if not ordered %}
ORDER BY _row
{% endif %}
