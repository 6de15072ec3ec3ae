/*---
doc: >
  Keep a random part of the samples. The choice depends on the text and the seed alone, so every run and every order of the
  samples gives the same one, and equal texts share their fate. Give a second step another seed: the same one keeps all.
version: 1
peer: random_sampling_filter of DCLM, whose choice changes with every run
params:
  keep_probability: {type: float, default: 0.1, min: 0, max: 1, doc: Share of the samples that is kept.}
  seed: {type: int, default: 0, doc: Other seeds choose other samples.}
stats:
  sampling_value: {type: DOUBLE, doc: "Number from 0 to below 1; smaller ones than keep_probability are kept."}
examples:
  - {text: "a text", params: {keep_probability: 1}, keep: true}
  - {text: "a text", params: {keep_probability: 0}, keep: false}
  - {text: "a text", params: {keep_probability: 0.5}, keep: false}
  - {text: "", params: {keep_probability: 1}, keep: true}
---*/
SELECT
  (md5_number_lower(concat({{ seed | lit }}, ':', {{ text }})) >> 11) / 9007199254740992 AS sampling_value,
  sampling_value < {{ keep_probability | lit }} AS keep
