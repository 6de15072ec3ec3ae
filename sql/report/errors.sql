-- Kinds of errors in the quarantine, by how often they occurred; places within a line do not make another kind.
SELECT
  step,
  operator,
  regexp_replace(left(error, 200), '(column|position|character|char|byte|line) (0x)?[0-9a-fA-F]+', '\1 …', 'g') AS error,
  count(*) AS lines
FROM quarantine
GROUP BY ALL
ORDER BY lines DESC, step, error
LIMIT {{ limit }}
