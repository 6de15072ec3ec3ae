-- Write: the samples that stay, in the order of the input.
CREATE OR REPLACE TEMP VIEW kept AS
SELECT
  batch.* EXCLUDE (_row, _suffix, _file{{ ', ' + taken if taken }}){% if replaced %} REPLACE (
    {{ replaced }}
  ){% endif %}{% if stats %},
  {{ stats }} AS __dj__stats__{% endif %}{% if add_suffix %},
  batch._suffix AS __dj__suffix__{% endif %}

FROM batch JOIN facts ON facts._row = batch._i
WHERE facts._dropped IS NULL;

COPY (
  SELECT * EXCLUDE (_i) FROM kept ORDER BY _i
) TO {{ path | lit }} ({{ writer.copy_options }}{{ writer.copy_compression }})
