-- Groups of samples with the same key: the first of each, the sample that stays, and the number of its members. What an index
-- remembers (numbers below 0) was kept by an earlier run, and comes before all others.
CREATE OR REPLACE TEMP TABLE groups AS
SELECT
  {{ key }} AS key,
  min(_row) AS first,
  {% if order %}
  arg_min(_row, create_sort_key(
    least(_row, 0), 'ASC NULLS LAST',
    {% for term in order %}
    {{ term.column }}, '{{ term.direction }}',
    {% endfor %}
    _row, 'ASC NULLS LAST'
  )) AS kept,
  {% else %}
  min(_row) AS kept,
  {% endif %}
  count(*) AS size
FROM marks
WHERE {{ key }} IS NOT NULL
GROUP BY {{ key }}
HAVING count(*) > 1
