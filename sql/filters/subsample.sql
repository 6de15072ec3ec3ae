/*---
doc: >
  Keep a random share of the samples. The choice depends on the text and `seed` alone, so every run and every order of the samples gives the
  same one, and equal texts share their fate.
version: 1
peer: subsample of datamap-rs, whose choice changes with every run
params:
  subsample_rate: {type: float, default: 1.0, min: 0, max: 1, doc: Share of samples to keep.}
  seed: {type: int, default: 0, doc: Another seed chooses other samples.}
stats:
  sampler_draw: {type: DOUBLE, most: 1, doc: "Number from 0 to below 1; smaller ones than subsample_rate are kept."}
examples:
  - {text: "a", params: {subsample_rate: 0.25}, stats: {sampler_draw: 0.23040295264482946}, keep: true}
  - {text: "b", params: {subsample_rate: 0.25, seed: 1}, keep: false}
  - {text: "b", params: {subsample_rate: 0}, keep: false}
  - {text: "", keep: true}
---*/
SELECT (md5_number_lower('{{ seed }}:' || md5({{ text }})) >> 11) / 9007199254740992.0 AS sampler_draw,
  sampler_draw < {{ subsample_rate | lit }} AS keep
