-- Moments of every statistic for each key of a group, the keys of the most samples first (ties: the one met first).
INSERT INTO stat_summary
WITH chosen AS MATERIALIZED (
  SELECT {{ key }} AS _group_key, row_number() OVER (ORDER BY count({{ stats[0].column }}) DESC, min(_row)) AS _place
  FROM facts
  GROUP BY 1
  {% if top_k %}
  ORDER BY 2
  LIMIT {{ top_k }}
  {% endif %}
),
found AS (
  SELECT _place{% for stat in stats %}, {{ stat.finite }} AS _value_{{ loop.index }}{% if stat.real %}, {{ stat.column }} AS _odd_{{ loop.index }}{% endif %}{% endfor %}

  FROM facts JOIN chosen ON chosen._group_key = facts.{{ key }}
),
sums AS MATERIALIZED (
  SELECT
    _place
    {% for stat in stats %}
    {% set i = loop.index %}
    , count(_value_{{ i }}) AS n_{{ i }}, fsum(_value_{{ i }}) AS total_{{ i }}, fsum(_value_{{ i }}) / count(_value_{{ i }}) AS near_{{ i }}
    , min(_value_{{ i }}) AS min_{{ i }}, max(_value_{{ i }}) AS max_{{ i }}
    {% if stat.real %}
    , count(*) FILTER (WHERE isnan(_odd_{{ i }})) AS nans_{{ i }}, count(*) FILTER (WHERE isinf(_odd_{{ i }})) AS infinities_{{ i }}
    {% endif %}
    {% endfor %}
  FROM found
  GROUP BY _place
),
squares AS (
  SELECT
    _place
    {% for stat in stats %}
    {% set i = loop.index %}
    , fsum(_value_{{ i }} - near_{{ i }}) AS rest_{{ i }}, fsum((_value_{{ i }} - near_{{ i }}) * (_value_{{ i }} - near_{{ i }})) AS squares_{{ i }}
    {% endfor %}
  FROM found JOIN sums USING (_place)
  GROUP BY _place
),
rows AS (
  SELECT _place, unnest([
    {% for stat in stats %}
    {% set i = loop.index %}
    {
      nth: {{ i }}, stat: {{ stat.name | lit }}, n: n_{{ i }}, mean: near_{{ i }} + rest_{{ i }} / n_{{ i }},
      m2: CASE WHEN min_{{ i }} < max_{{ i }} THEN squares_{{ i }} - rest_{{ i }} * rest_{{ i }} / n_{{ i }} ELSE 0.0 END,
      min: min_{{ i }}, max: max_{{ i }}, total: total_{{ i }},
      {% if stat.real %}
      nans: nans_{{ i }}, infinities: infinities_{{ i }}
      {% else %}
      nans: 0::BIGINT, infinities: 0::BIGINT
      {% endif %}
    }{{ ',' if not loop.last }}
    {% endfor %}
  ], recursive := TRUE)
  FROM sums JOIN squares USING (_place)
)
SELECT {{ group | lit }}, _group_key, stat, n, mean, m2, min, max, total, nans, infinities
FROM rows JOIN chosen USING (_place)
WHERE n + nans + infinities > 0
ORDER BY nth, _place
