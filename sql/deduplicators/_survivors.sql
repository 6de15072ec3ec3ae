-- Which sample of each cluster stays: the first in the order asked for, and among equals the first of the input. What an
-- index remembers (numbers below 0) was kept by an earlier run, and comes before all others.
SELECT members.root, members._row AS kept
FROM members
LEFT JOIN marks ON marks._row = members._row
QUALIFY row_number() OVER (
  PARTITION BY members.root
  ORDER BY least(members._row, 0), {% for term in order %}marks.{{ term.column }} {{ term.direction }}, {% endfor %}members._row
) = 1
