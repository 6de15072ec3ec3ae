-- Fields of one sample as it was read, those that the recipe keeps.
SELECT _row{% for field in fields %}, {{ field.value }} AS {{ field.shown }}{% endfor %} FROM row_outcomes
