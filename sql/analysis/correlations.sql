-- Correlations of all pairs of statistics over the samples that have both: Pearson's of the values, Spearman's of the ranks,
-- which are those among all values of a statistic. NULL where a statistic is the same for all of them.
{% macro known(x, y) %}CASE WHEN isfinite(corr({{ x }}, {{ y }})) THEN corr({{ x }}, {{ y }}) END{% endmacro %}
SELECT unnest([
{% for one, other in pairs %}
  {
    'stat_a': {{ names[one] }},
    'stat_b': {{ names[other] }},
    'n': CAST(regr_count(v{{ one }}, v{{ other }}) AS BIGINT),
    'pearson': {{ known('v%d' % one, 'v%d' % other) }},
    'spearman': {{ known('r%d' % one, 'r%d' % other) }}
  }{{ ',' if not loop.last }}
{% endfor %}
], recursive := true)
FROM {{ relation }}
