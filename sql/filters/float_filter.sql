/*---
doc: >
  Keep samples with a number in a field that lies in [lower_bound, upper_bound], compared in single precision as 32-bit floats; with negate, those
  with one outside. A dot in the field's name goes into an object. A sample without the field counts as `default`. A value that is no number puts
  the sample into quarantine.
version: 1
peer: float_filter of datamap-rs
params:
  float_field: {type: str, doc: "The field, such as metadata.score."}
  lower_bound: {type: float, default: 0, doc: Smallest value.}
  upper_bound: {type: float, default: 9223372036854775807, doc: Largest value.}
  negate: {type: bool, default: false, doc: Keep what is outside.}
  default: {type: float, default: 0, doc: Value of samples without the field.}
stats:
  float_value: {type: FLOAT, doc: Value of the field.}
examples:
  - {text: a, fields: {score: 0.65}, params: {float_field: score, lower_bound: 0.65}, stats: {float_value: 0.6499999761581421}, keep: true}
  - {text: a, fields: {score: 0.649}, params: {float_field: score, lower_bound: 0.65}, keep: false}
  - {text: a, fields: {score: 7}, params: {float_field: score, upper_bound: 6, negate: true}, stats: {float_value: 7.0}, keep: true}
  - {text: "", params: {float_field: score}, stats: {float_value: 0.0}, keep: true}
  - {text: a, fields: {score: high}, params: {float_field: score}, quarantined: score is no number}
---*/
{%- set value = field(float_field) %}
SELECT
  {{ value }}::VARCHAR AS _value,
  CASE WHEN _value IS NULL THEN {{ default | lit }}
    WHEN TRY_CAST(_value AS DOUBLE) IS NULL THEN error({{ (float_field ~ " is no number: ") | lit }} || _value)
    ELSE TRY_CAST(_value AS DOUBLE) END AS float_value,
  {{ 'NOT ' if negate }}(float_value >= {{ lower_bound | lit }}::FLOAT AND float_value <= {{ upper_bound | lit }}::FLOAT) AS keep
