-- Stored results of a stage of the changed recipe for a shard's samples: a row for each
-- sample that need not be run again. $first, $end: numbers of the shard's samples in the whole input. Both tables are in
-- the order of the same samples, so they are joined by position. For all shards at once, only
-- samples with another fate are listed: `_again` marks those to run again, `_was_kept` those that were kept,
-- `_differs_1` and on those with another value in a column.
WITH stored AS (
  SELECT stats.*, row_outcomes.* EXCLUDE (_row), {{ reached }} AS _reached
  {% if whole %}
  FROM stats
  POSITIONAL JOIN row_outcomes
  {% else %}
  FROM stats
  JOIN row_outcomes ON row_outcomes._row = stats._row
  WHERE stats._row >= $first AND stats._row < $end AND row_outcomes._row >= $first AND row_outcomes._row < $end
  {% endif %}
),
decided AS (SELECT *, {{ decision }} AS _here, {{ later }} AS _end FROM stored WHERE {{ given }})
SELECT
  decided._row{{ '' if whole else ' - $first' }} AS _row,
  _here AS _dropped,
  {% for column, sql in columns.items() %}
  {{ sql }} AS {{ column }},
  {% endfor %}
  {% if whole %}
  ({{ again }}) AS _again,
  decided._dropped IS NULL AS _was_kept,
  {% for column, sql in columns.items() %}
  decided.{{ column }} IS DISTINCT FROM ({{ sql }}) AS _differs_{{ loop.index }},
  {% endfor %}
  {% endif %}
FROM decided
{% if texts %}
LEFT JOIN (SELECT *, TRUE AS _has_text FROM read_parquet($texts)) AS texts ON texts._row = decided._row
{% endif %}
{% if whole %}
WHERE _here IS DISTINCT FROM decided._dropped OR {{ again }}
{% else %}
WHERE NOT ({{ again }})
ORDER BY 1
{% endif %}
