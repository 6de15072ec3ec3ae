-- Samples that reach a filter: the columns that it decides by, the fate, whether the run's own values keep the sample,
-- and the other steps that remove it, as far as the run knows. Fate and steps are in table filter_kinds, by number.
CREATE OR REPLACE TEMP TABLE filter_reached AS
SELECT
  _row,
  {% for column in columns %}
  {{ column }},
  {% endfor %}
  CASE WHEN {{ here }} THEN 'here' WHEN {{ kept }} THEN 'kept' ELSE 'later' END AS _fate,
  coalesce({{ condition }}, FALSE) AS _in_force,
  {% if others %}
  concat_ws(',', {% for step, other in others %}CASE WHEN NOT ({{ other }}) THEN '{{ step }}' END{{ ', ' if not loop.last }}{% endfor %})
  {% else %}
  CASE WHEN _dropped > {{ step }} THEN CAST(_dropped AS VARCHAR) ELSE '' END
  {% endif %} AS _others,
  {{ bytes_here }} AS _bytes_here,
  {{ bytes_end }} AS _bytes_end
FROM stats
JOIN row_outcomes USING (_row)
WHERE _dropped IS NULL OR _dropped >= {{ step }};

CREATE OR REPLACE TEMP TABLE filter_kinds AS
SELECT CAST(row_number() OVER (ORDER BY _fate, _others, _in_force) AS INTEGER) AS _kind, *
FROM (SELECT DISTINCT _fate, _others, _in_force FROM filter_reached);

CREATE OR REPLACE TEMP TABLE filter_rows AS
SELECT * EXCLUDE (_fate, _others, _in_force)
FROM filter_reached
JOIN filter_kinds USING (_fate, _others, _in_force);

DROP TABLE filter_reached;
