/*---
doc: >
  Keep samples in which at most max_parentheses_ratio of the characters are brackets: {} ⟨⟩ [] (). An empty text has 1.
version: 1
peer: ParenthesesFilter of NeMo Curator
params:
  max_parentheses_ratio: {type: float, default: 0.1, doc: Largest share.}
stats:
  parentheses_ratio: {type: DOUBLE, most: 1, doc: Share of the characters that are brackets.}
bounds:
  parentheses_ratio: [null, max_parentheses_ratio]
examples:
  - {text: "(a) word", stats: {parentheses_ratio: 0.25}, keep: false}
  - {text: "{⟨[(", stats: {parentheses_ratio: 1.0}, keep: false}
  - {text: "<a> （b）", stats: {parentheses_ratio: 0.0}, keep: true}
  - {text: "", stats: {parentheses_ratio: 1.0}, keep: false}
---*/
{%- set counts = feature('character_counts') %}
SELECT coalesce({{ counts }}.brackets / nullif({{ counts }}.chars, 0), 1) AS parentheses_ratio
