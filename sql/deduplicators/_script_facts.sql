-- What all stages found out of every sample that could be read, and which step removed it.
CREATE OR REPLACE TEMP TABLE facts AS
SELECT
  facts_1._row,
  coalesce({% for stage in stages %}facts_{{ stage }}._dropped, {% endfor %}gone.step) AS _dropped
  {% for stage, column in columns %}, facts_{{ stage }}.{{ column }}{% endfor %}

FROM facts_1
{% for stage in stages[1:] %}
LEFT JOIN facts_{{ stage }} ON facts_{{ stage }}._row = facts_1._row
{% endfor %}
LEFT JOIN (SELECT _row, step FROM duplicates WHERE unit IS NULL) AS gone ON gone._row = facts_1._row
ORDER BY 1
