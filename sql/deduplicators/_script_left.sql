-- What stage {{ stage }} leaves, with the texts that it changed.
CREATE OR REPLACE TEMP TABLE batch AS
{% if lines is not none %}
SELECT _i, _row, {{ last }} AS _line, _suffix, _file
FROM (
  SELECT batch._i, batch._row, {{ lines | join(', ') }}, batch._suffix, batch._file
  FROM batch JOIN facts_{{ stage }} AS facts ON facts._row = batch._i
  WHERE facts._dropped IS NULL
)
{% else %}
SELECT batch.*{% if replaced %} REPLACE ({{ replaced }}){% endif %}

FROM batch JOIN facts_{{ stage }} AS facts ON facts._row = batch._i
WHERE facts._dropped IS NULL
{% endif %}
