-- The changes of samples, in the columns of a table that have other values now.
UPDATE {{ table }}
SET {% for column in columns %}{{ column }} = changes.{{ column }}{{ ', ' if not loop.last }}{% endfor %}

FROM {{ changes }} AS changes
WHERE {{ table }}._row = changes._row
