/*---
doc: >
  Keep samples in which at most max_num_sentences_without_endmark_ratio of the lines end, before white space, in other
  than . ? ! " or '. Lines of white space do not count. A text without lines is removed; NeMo Curator fails there.
version: 1
peer: PunctuationFilter of NeMo Curator, whose sentences are lines
params:
  max_num_sentences_without_endmark_ratio: {type: float, default: 0.85, doc: Largest share.}
stats:
  punctuation: {type: DOUBLE, most: 1, doc: Share of lines without an end mark; NULL without lines.}
bounds:
  punctuation: [null, max_num_sentences_without_endmark_ratio]
examples:
  - {text: "A title\nA sentence. \n\nIs it?", stats: {punctuation: 0.3333333333333333}, keep: true}
  - {text: "One. Two. Three", stats: {punctuation: 1.0}, keep: false}
  - {text: "完了。", stats: {punctuation: 1.0}, keep: false}
  - {text: " \n", stats: {punctuation: null}, keep: false}
---*/
{%- set lines = feature('line_marks') %}
SELECT {{ lines }}.unended / nullif({{ lines }}.inked, 0) AS punctuation
