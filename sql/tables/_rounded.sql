-- A value rounded to `digits` decimals as Python's round does, the type kept: exactly by the decimal digits of the number,
-- and a tie to the even neighbour. Arithmetic decides where the tie is far, the digits themselves where it is near.
{% if digits >= 0 %}
{% if real %}
CASE
  WHEN NOT isfinite({{ value }}) THEN {{ value }}
  WHEN abs({{ value }}) < 1e9 / {{ power }} AND abs(abs({{ value }} * {{ power }} - floor({{ value }} * {{ power }})) - 0.5) > 1e-6
    THEN round({{ value }} * {{ power }}) / {{ power }}
  ELSE CAST(format({{ ('{:.%df}' % digits) | lit }}, {{ value }}) AS DOUBLE)
END
{% else %}
{{ value }}
{% endif %}
{% else %}
{% set rest = 'abs(%s) %% %s' % (value, power) %}
{% set down = '(abs(%s) - %s) // %s' % (value, rest, power) %}
CASE WHEN {{ value }} < 0 THEN -1 ELSE 1 END * {{ power }} * (
  {{ down }} + CASE WHEN {{ rest }} * 2 > {{ power }} OR ({{ rest }} * 2 = {{ power }} AND {{ down }} % 2 = 1) THEN 1 ELSE 0 END
)
{% endif %}
