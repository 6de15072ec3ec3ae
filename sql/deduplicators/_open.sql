-- The members of buckets with their places, and the first member that has the same content: it is compared with this one first.
{% if index %}
-- An index remembers signatures: a sample with one of these is compared with the sample of the index first.
{% endif %}
CREATE OR REPLACE TEMP TABLE open AS
WITH placed AS (SELECT * FROM buckets JOIN places USING (_row))
SELECT
  placed.band, placed.key, placed._row, placed.place,
  {% if index %}
  CASE WHEN placed._row < 0 THEN placed._row ELSE coalesce(remembered.one, firsts.one) END AS first
  {% else %}
  firsts.one AS first
  {% endif %}
FROM placed
{{ 'LEFT JOIN' if index else 'JOIN' }} (SELECT band, key, content, arg_min(_row, place) AS one FROM placed WHERE _row >= 0 GROUP BY ALL) AS firsts
  ON placed.band = firsts.band AND placed.key = firsts.key AND placed.content = firsts.content
{% if index %}
LEFT JOIN (SELECT band, key, signed, arg_min(_row, place) AS one FROM placed WHERE _row < 0 GROUP BY ALL) AS remembered
  ON placed.band = remembered.band AND placed.key = remembered.key AND placed.signed = remembered.signed
{% endif %}
