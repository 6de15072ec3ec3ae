-- The samples that stay, in input order.
COPY (
  SELECT batch.* EXCLUDE (_i, _row, _suffix){% if replaced %} REPLACE ({{ replaced }}){% endif %}

  FROM batch JOIN facts ON facts._row = batch._i
  WHERE _dropped IS NULL
  ORDER BY _i
) TO {{ path | lit }} (FORMAT {{ format }})
