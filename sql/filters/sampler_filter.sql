/*---
doc: >
  Keep a share `rate` of the samples, chosen by their contents: each sample's text and `seed` give a number from 0 to 1,
  and it is kept if the number is below `rate`. So a sample has the same verdict in every run, in any order, on any
  number of machines, equal texts have equal verdicts, and a lower rate keeps a part of what a higher one keeps.
  datatrove draws from a generator of random numbers in the order of the documents, so it keeps other documents, about
  as many. `by` names what to choose by in place of the text: with `by: url`, all samples of an address stay together.
  A sample where it is NULL is removed. Without a seed, datatrove chooses anew in each run; here null is 0.
version: 1
peer: SamplerFilter of datatrove 0.10.1
params:
  rate: {type: float, default: 0.5, min: 0, max: 1, doc: Share of the samples to keep.}
  seed: {type: int, default: null, nullable: true, doc: Another seed chooses other samples.}
  by: {type: sql, default: null, nullable: true, doc: "An expression over a sample, such as `id`; null: the text."}
stats: {sampler_draw: {type: DOUBLE, most: 1, doc: The number of the sample.}}
examples:
  - {text: "a", stats: {sampler_draw: 0.23040295264482946}, keep: true}
  - {text: "b", params: {rate: 0.25}, stats: {sampler_draw: 0.28830903883760306}, keep: false}
  - {text: "b", params: {seed: 1}, stats: {sampler_draw: 0.5989600089137525}, keep: false}
  - {text: "b", params: {by: "'a'"}, stats: {sampler_draw: 0.23040295264482946}, keep: true}
  - {text: "b", params: {by: "NULL"}, keep: false}
  - {text: "b", params: {rate: 1.0}, keep: true}
  - {text: "b", params: {rate: 0.0}, keep: false}
  - {text: "", keep: false}
---*/
{% set key = text if by is none else 'CAST((' ~ by ~ ') AS VARCHAR)' %}
SELECT (md5_number_lower('{{ seed or 0 }}:' || md5({{ key }})) >> 11) / 9007199254740992.0 AS sampler_draw,
    sampler_draw < {{ rate | lit }} AS keep
