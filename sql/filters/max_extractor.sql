/*---
doc: >
  Measure the key with the largest value of an attribute that maps keys to numbers, such as the labels of fasttext_annotator. The statistic has
  the name output_attribute; it is NULL if no value is lower_bound or more, and such samples are removed unless keep_nulls. Of equal values the last
  key in the order of the alphabet is taken.
version: 1
peer: max_extractor of datamap-rs, which writes a field
params:
  main_attribute: {type: sql, doc: "The mapping: an earlier statistic or a field of JSON."}
  output_attribute: {type: str, default: max_label, doc: Name of the statistic.}
  lower_bound: {type: float, default: 0, doc: Smallest value that counts.}
  keep_nulls: {type: bool, default: true, doc: Keep samples without a key.}
stats:
  "{output_attribute}": {type: VARCHAR, doc: The key.}
examples:
  - {text: a, params: {main_attribute: "'{\"art\": 0.2, \"news\": 0.7}'", output_attribute: topic}, stats: {topic: news}, keep: true}
  - {text: a, params: {main_attribute: "'{\"b\": 0.4, \"a\": 0.4}'"}, stats: {max_label: b}, keep: true}
  - {text: a, params: {main_attribute: "'{\"art\": 0.2}'", lower_bound: 0.5, keep_nulls: false}, stats: {max_label: null}, keep: false}
  - {text: "", params: {main_attribute: "NULL"}, stats: {max_label: null}, keep: true}
---*/
SELECT
  list_max(
    [{'value': entry.value, 'key': entry.key}
      FOR entry IN map_entries(CAST(({{ main_attribute }})::JSON AS MAP(VARCHAR, DOUBLE)))
      IF entry.value >= {{ lower_bound | lit }}]
  ).key AS {{ output_attribute | ident }},
  {{ 'true' if keep_nulls else (output_attribute | ident) ~ ' IS NOT NULL' }} AS keep
