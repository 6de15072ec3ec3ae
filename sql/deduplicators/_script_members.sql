{% if not nearest %}
-- Clusters: samples with the same key, named after the first of them.
CREATE OR REPLACE TEMP TABLE members AS
SELECT _row, via AS root FROM pairs
UNION
SELECT via, via FROM pairs
{% else %}
-- Clusters: what pairs connect, named after the first sample. Each takes on the smallest name that is known to its
-- neighbours' namesakes, until none changes: about as many rounds as the longest way has digits in base two.
CREATE OR REPLACE TEMP TABLE members AS
WITH RECURSIVE edges AS MATERIALIZED (
  SELECT _row, via FROM pairs
  UNION
  SELECT via, _row FROM pairs
),
labels(_row, root) USING KEY (_row) AS (
  SELECT _row, least(_row, min(via)) FROM edges GROUP BY _row
  UNION
  SELECT edges._row, min(top.root)
  FROM labels
  JOIN recurring.labels AS top ON top._row = labels.root
  JOIN edges ON edges.via = labels._row
  JOIN recurring.labels AS own ON own._row = edges._row
  GROUP BY edges._row, own.root
  HAVING min(top.root) < own.root
)
SELECT _row, root FROM labels
{% endif %}
