SELECT samples.*
{% for one in carried %}, facts_{{ one.stage }}.{{ one.statistic }} AS {{ one.column }}{% endfor %}
{% if removed %}, removed.units AS {{ removed }}{% endif %}

FROM temp.batch AS samples
{% for stage in carried | map(attribute='stage') | unique %}
LEFT JOIN facts_{{ stage }} ON facts_{{ stage }}._row = samples._i
{% endfor %}
{% if removed %}
LEFT JOIN (SELECT _row, list(unit ORDER BY unit) AS units FROM removed_units GROUP BY _row) AS removed
  ON removed._row = samples._i
{% endif %}
