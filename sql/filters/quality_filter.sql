/*---
doc: >
  Keep samples whose score is at least the threshold; with lower_better, at most. The score is a field of the sample or a statistic
  of an earlier step. A sample without it goes to quarantine, or is removed if key_must_exist is false.
version: 1
peer: quality_filter of DCLM
params:
  key: {type: sql, default: fasttext_hq_prob, doc: "Name of the score, or any expression. A name with unusual characters needs double quotes."}
  threshold: {type: float, default: 0.0, doc: The score that is just good enough.}
  lower_better: {type: bool, default: false, doc: Smaller scores are better.}
  key_must_exist: {type: bool, default: true, doc: A sample without a score is an error of its row.}
stats:
  quality: {type: DOUBLE, doc: The score.}
examples:
  - {text: "12345", params: {key: length(text) / 10, threshold: 0.5}, stats: {quality: 0.5}, keep: true}
  - {text: "1234", params: {key: length(text) / 10, threshold: 0.5}, stats: {quality: 0.4}, keep: false}
  - {text: "12", params: {key: length(text), threshold: 1, lower_better: true}, stats: {quality: 2.0}, keep: false}
  - {text: "", params: {key: "NULL", threshold: 0, key_must_exist: false}, stats: {quality: null}, keep: false}
  - {text: "", params: {key: "nullif(length(text), 0)", threshold: 0}, quarantined: no score}
---*/
SELECT
  {% if key_must_exist %}
  coalesce({{ key }}, error('quality_filter: the sample has no score; key_must_exist: false removes such samples')) AS quality,
  {% else %}
  {{ key }} AS quality,
  {% endif %}
  quality {{ '<=' if lower_better else '>=' }} {{ threshold | lit }} AS keep
