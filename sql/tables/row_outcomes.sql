-- The step that removed each sample, and the changes and sizes of its text. With `stats` it decides a change of bounds.
CREATE OR REPLACE TABLE row_outcomes AS
SELECT *{% if stats %} EXCLUDE ({{ stats | join(', ') }}){% endif %}

FROM {{ facts }}
{% if not ordered %}
ORDER BY _row
{% endif %};
-- The name before 0.2, for queries of users.
CREATE OR REPLACE VIEW fates AS SELECT * FROM row_outcomes
