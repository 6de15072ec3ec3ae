{# End of Wilson's interval (1927) at 95 %, z = 1.959964, of a share of k in n: the lower end with the sign -, the upper end with +. #}
CASE WHEN {{ n }} > 0 THEN least(1.0, greatest(0.0, (
  {{ k }} / {{ n }} + 1.920729440648 / {{ n }}
  {{ sign }} 1.959964 * sqrt(greatest(0.0, {{ k }} / {{ n }} * (1 - {{ k }} / {{ n }}) / {{ n }} + 0.960364720324 / ({{ n }} * {{ n }})))
) / (1 + 3.841458881296 / {{ n }}))) END
