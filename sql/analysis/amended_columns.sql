-- Which columns of a table have other values for the samples of a file of changes than they had.
SELECT {% for column in columns %}coalesce(bool_or(changes.{{ column }} IS DISTINCT FROM stored.{{ column }}), FALSE){{ ', ' if not loop.last }}{% endfor %}

FROM changes
JOIN {{ table }} AS stored USING (_row)
