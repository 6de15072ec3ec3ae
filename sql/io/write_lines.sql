-- Write: the samples that stay, in the order of the input. A line whose text did not change is written as it was.
CREATE OR REPLACE TEMP VIEW kept AS
SELECT
  batch._i,
  {{ lines | join(',\n  ') }}
FROM batch JOIN facts ON facts._row = batch._i
WHERE facts._dropped IS NULL;

{% set as_lines = "FORMAT csv, HEADER false, DELIMITER '\\x01', QUOTE '', ESCAPE ''" %}
{% if writer.layout == 'columns' %}
SET VARIABLE columns = (
  SELECT regexp_replace(CAST(json_group_structure(CAST(line AS JSON)) AS VARCHAR), '"U?(BIG|HUGE)INT"', '"BIGINT"', 'g')
  FROM kept
);
COPY (
  SELECT unnest(from_json(line, getvariable('columns'))) FROM kept ORDER BY _i
) TO {{ path | lit }} ({{ writer.copy_options }})
{% elif writer.layout == 'array' %}
COPY (
  SELECT line
  FROM (
    SELECT -1 AS _i, '[' AS line
    UNION ALL SELECT _i, line || if(lead(_i) OVER (ORDER BY _i) IS NULL, '', ',') FROM kept
    UNION ALL SELECT 9223372036854775807, ']'
  )
  ORDER BY _i
) TO {{ path | lit }} ({{ as_lines }})
{% else %}
COPY (
  SELECT line FROM kept ORDER BY _i
) TO {{ path | lit }} ({{ as_lines }}{{ writer.copy_compression }})
{% endif %}
