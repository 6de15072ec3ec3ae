-- One row per pair of steps that may remove samples: how many both remove, and how many only one of them. A count is NULL where a
-- sample without a verdict could add to it. Samples are counted by their verdicts first, of which there are few.
WITH patterns AS (
{% if verdicts %}
  SELECT v, count(*) AS n
  FROM (SELECT [{% for verdict in verdicts %}{{ verdict.removes }}{{ ', ' if not loop.last }}{% endfor %}] AS v FROM {{ source }})
  GROUP BY v
{% else %}
  SELECT CAST([] AS BOOLEAN[]) AS v, 0 AS n WHERE FALSE
{% endif %}
),
removing AS (
  SELECT steps.step, operator, {{ 'name' if named else 'CAST(NULL AS VARCHAR) AS name' }}, place
  FROM steps JOIN (SELECT unnest({{ verdicts | map(attribute='step') | list | lit }}::INTEGER[]) AS step, generate_subscripts({{ verdicts | map(attribute='step') | list | lit }}::INTEGER[], 1) AS place) AS listed
  ON listed.step = steps.step
),
pairs AS (
  SELECT
    a.step AS step_a, a.operator AS operator_a, a.name AS name_a, b.step AS step_b, b.operator AS operator_b, b.name AS name_b,
    v[a.place] AS in_a, v[b.place] AS in_b, coalesce(n, 0) AS n
  FROM removing AS a
  JOIN removing AS b ON a.place < b.place
  LEFT JOIN patterns ON TRUE
),
counted AS (
  SELECT
    step_a, operator_a, name_a, step_b, operator_b, name_b,
    coalesce(sum(n) FILTER (WHERE in_a AND in_b), 0) AS by_both,
    coalesce(sum(n) FILTER (WHERE in_a AND NOT in_b), 0) AS only_a,
    coalesce(sum(n) FILTER (WHERE in_b AND NOT in_a), 0) AS only_b,
    coalesce(sum(n) FILTER (WHERE in_a IS NULL), 0) AS unknown_a,
    coalesce(sum(n) FILTER (WHERE in_b IS NULL), 0) AS unknown_b,
    coalesce(sum(n) FILTER (WHERE (in_a AND in_b) IS NULL), 0) AS maybe_both,
    coalesce(sum(n) FILTER (WHERE (in_a AND NOT in_b) IS NULL), 0) AS maybe_a,
    coalesce(sum(n) FILTER (WHERE (in_b AND NOT in_a) IS NULL), 0) AS maybe_b
  FROM pairs
  GROUP BY ALL
)
SELECT
  step_a, operator_a, name_a, step_b, operator_b, name_b,
  CAST(CASE WHEN maybe_both = 0 THEN by_both END AS BIGINT) AS by_both,
  CAST(CASE WHEN maybe_a = 0 THEN only_a END AS BIGINT) AS only_a,
  CAST(CASE WHEN maybe_b = 0 THEN only_b END AS BIGINT) AS only_b,
  CAST(unknown_a AS BIGINT) AS unknown_a,
  CAST(unknown_b AS BIGINT) AS unknown_b
FROM counted
ORDER BY step_a, step_b
