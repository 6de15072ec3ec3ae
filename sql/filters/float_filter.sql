/*---
doc: >
  Keep samples with a number in a field that lies in [lower_bound, upper_bound], compared in single precision as 32-bit floats; with negate, those
  with one outside. A sample without the field counts as `default`. A value that is no number puts
  the sample into quarantine.
version: 1
peer: float_filter of datamap-rs
params:
  float_field: {type: sql, doc: "The field, such as metadata.score, an earlier statistic, or an expression."}
  lower_bound: {type: float, default: 0, doc: Smallest value.}
  upper_bound: {type: float, default: 9223372036854775807, doc: Largest value.}
  negate: {type: bool, default: false, doc: Keep what is outside.}
  default: {type: float, default: 0, doc: Value of samples without the field.}
stats:
  float_value: {type: FLOAT, doc: Value of the field.}
examples:
  - {text: a, params: {float_field: "0.65", lower_bound: 0.65}, stats: {float_value: 0.6499999761581421}, keep: true}
  - {text: a, params: {float_field: "0.649", lower_bound: 0.65}, keep: false}
  - {text: a, params: {float_field: "7", upper_bound: 6, negate: true}, stats: {float_value: 7.0}, keep: true}
  - {text: a, params: {float_field: "'{\"en\": 0.9}' ->> 'en'", lower_bound: 0.65}, stats: {float_value: 0.8999999761581421}, keep: true}
  - {text: "", params: {float_field: "NULL"}, stats: {float_value: 0.0}, keep: true}
  - {text: a, params: {float_field: "'high'"}, quarantined: float_field is no number}
---*/
SELECT
  ({{ float_field }})::VARCHAR AS _value,
  CASE WHEN _value IS NULL THEN {{ default | lit }}
    WHEN TRY_CAST(_value AS DOUBLE) IS NULL THEN error('float_field is no number: ' || _value)
    ELSE TRY_CAST(_value AS DOUBLE) END AS float_value,
  {{ 'NOT ' if negate }}(float_value >= {{ lower_bound | lit }}::FLOAT AND float_value <= {{ upper_bound | lit }}::FLOAT) AS keep
