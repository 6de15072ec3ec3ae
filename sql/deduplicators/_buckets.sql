-- The members of every band's buckets, to be compared with one another.
{% for band in bands %}
{{ 'UNION ALL' if not loop.first }}
SELECT {{ band }} AS band, band_{{ band }} AS key, _row
FROM marks
WHERE band_{{ band }} IN (SELECT band_{{ band }} FROM marks GROUP BY band_{{ band }} HAVING count(*) > 1)
{% endfor %}
