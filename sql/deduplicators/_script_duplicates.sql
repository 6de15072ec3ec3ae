INSERT INTO duplicates BY NAME
SELECT
  {{ step }} AS step, {{ name | lit }} AS operator, _row, kept,
  {{ 'unit, matched' if units else 'via, matched, distance, estimated_jaccard, jaccard' }}
FROM ({{ duplicates }})
