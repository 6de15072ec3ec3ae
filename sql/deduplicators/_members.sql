-- Samples that share a band with others. With an index, also a number that the signature of each gives: its texts are gone.
{% if index %}
SELECT members._row, coalesce(md5_number_lower(marks.signature), 0) AS signed
FROM (SELECT DISTINCT _row FROM buckets) AS members
JOIN (SELECT _row, signature FROM marks) AS marks ON marks._row = members._row
{% else %}
SELECT DISTINCT _row FROM buckets
{% endif %}
