-- The members of clusters in the order in which they are preferred: what an index remembers (numbers below 0) before all
-- others, and among equals the first of the input.
SELECT members._row
FROM members
LEFT JOIN marks ON marks._row = members._row
ORDER BY members.root, least(members._row, 0), {% for term in order %}marks.{{ term.column }} {{ term.direction }}, {% endfor %}members._row
