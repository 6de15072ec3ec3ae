-- Samples that go, with the match of each (the first one of its group, or for this one the second) and their own match key.
CREATE OR REPLACE TEMP VIEW found AS
SELECT
  marks._row,
  groups.kept,
  {% if order %}
  coalesce(seconds.second, groups.first) AS via,
  {% else %}
  groups.first AS via,
  {% endif %}
  marks.{{ key }},
  CAST({{ how }} AS INTEGER) AS how,
  CAST(NULL AS DOUBLE) AS jaccard
FROM marks
JOIN groups ON marks.{{ key }} = groups.key
{% if order %}
LEFT JOIN (
  SELECT groups.first, min(marks._row) AS second
  FROM marks
  JOIN groups ON marks.{{ key }} = groups.key
  WHERE groups.kept <> groups.first AND marks._row <> groups.first
  GROUP BY groups.first
) AS seconds ON seconds.first = marks._row
{% endif %}
WHERE marks._row <> groups.kept AND marks._row >= 0
