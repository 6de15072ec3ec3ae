-- Samples by bin of some statistics and by their fate: kept, removed by the step that measures it, or by another one.
-- outcomes: true if the table row_outcomes is in the order of stats, which saves looking rows up.
-- Bins are numbered from 0; -1 and the number of bins hold what lies outside of the axis.
WITH known AS MATERIALIZED (
  SELECT
{% for one in wanted %}
    CAST(stats.{{ one.column }} AS DOUBLE) AS x_{{ loop.index0 }},
{% endfor %}
    {% if outcomes %}
    row_outcomes._dropped AS step
  FROM stats POSITIONAL JOIN row_outcomes
    {% else %}
    ledger.step
  FROM stats LEFT JOIN ledger ON ledger._row = stats._row
    {% endif %}
)
{% for one in wanted %}
{% set axis = one.axis %}
{% set x = 'x_' ~ loop.index0 %}
{{ 'UNION ALL' if not loop.first }}
SELECT
  {{ loop.index0 }} AS nth,
  CASE
    WHEN {{ x }} < {{ axis.low | lit }} THEN -1
    WHEN {{ x }} > {{ axis.high | lit }} THEN {{ axis.bins }}
    ELSE least(greatest(CAST(floor(({{ 'ln(' ~ x ~ ')' if axis.log else x }} - {{ axis.start | lit }}) / {{ axis.width | lit }}) AS INTEGER), 0), {{ axis.bins - 1 }})
  END AS bin,
  CASE WHEN step IS NULL THEN 'kept' WHEN step = {{ one.step }} THEN 'here' ELSE 'elsewhere' END AS fate,
  count(*) AS samples
FROM known
WHERE isfinite({{ x }})
GROUP BY ALL
{% endfor %}
ORDER BY ALL
