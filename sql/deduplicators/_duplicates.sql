-- One row per removed sample: the one that is kept instead, and the one that it was matched with.
SELECT
  found._row, found.kept, found.via,
  {{ matched }} AS matched,
  {{ distance }} AS distance,
  {{ estimate }} AS estimated_jaccard,
  found.jaccard
FROM found
{% if joined %}
LEFT JOIN marks AS one ON one._row = found._row
LEFT JOIN marks AS other ON other._row = found.via
{% endif %}
ORDER BY found._row
