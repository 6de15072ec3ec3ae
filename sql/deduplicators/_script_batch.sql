SELECT samples.*
{% for one in carried %}, facts_{{ one.stage }}.{{ one.statistic }} AS {{ one.column }}{% endfor %}
{% if removed %}, removed.{{ 'size' if sizes_of else 'units' }} AS {{ removed }}{% endif %}

FROM temp.batch AS samples
{% for stage in carried | map(attribute='stage') | unique %}
LEFT JOIN facts_{{ stage }} ON facts_{{ stage }}._row = samples._i
{% endfor %}
{% if removed and sizes_of %}
LEFT JOIN (SELECT _row, size FROM clusters WHERE step = {{ sizes_of }} AND survivor) AS removed ON removed._row = samples._i
{% elif removed %}
LEFT JOIN (SELECT _row, list(unit ORDER BY unit) AS units FROM removed_units GROUP BY _row) AS removed
  ON removed._row = samples._i
{% endif %}
