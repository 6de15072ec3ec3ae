-- Which sample of each cluster stays{{ ': the first in the order asked for, and among equals the first of the input' if survivors else ': the first' }}.
CREATE OR REPLACE TEMP TABLE clustered AS
SELECT members._row, {{ 'survivors.kept' if survivors else 'members.root' }} AS kept, count(*) OVER (PARTITION BY members.root) AS size
FROM members
{% if survivors %}
JOIN ({{ survivors }}) AS survivors ON survivors.root = members.root
{% endif %}
