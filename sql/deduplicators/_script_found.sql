{% if not nearest %}
-- What each removed sample was matched with.
{% else %}
-- The match that explains each removed sample: with an earlier one if there is any, then the lowest {{ nearest }}.
{% endif %}
CREATE OR REPLACE TEMP TABLE found AS
SELECT clustered._row, clustered.kept, matches.via, matches.how, matches.jaccard
FROM clustered
JOIN (
  SELECT *
  FROM (
    SELECT _row, via, how, jaccard FROM pairs
    UNION ALL
    SELECT via, _row, how, jaccard FROM pairs
  )
  QUALIFY row_number() OVER (PARTITION BY _row ORDER BY via > _row, how, via) = 1
) AS matches ON matches._row = clustered._row
WHERE clustered._row <> clustered.kept
