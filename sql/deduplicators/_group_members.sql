-- All samples of groups, by the one that stays.
SELECT marks._row, groups.kept, groups.size
FROM marks
JOIN groups ON marks.{{ key }} = groups.key
ORDER BY groups.kept, marks._row
