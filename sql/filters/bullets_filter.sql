/*---
doc: >
  Keep samples in which at most max_bullet_lines_ratio of the lines begin with a bullet, after white space: • ‣ ⁃ ⁌ ⁍ ∙ ○ ● ◘
  ◦ ⦾ or ⦿, and neither - nor *. Lines of white space do not count. A text without lines is removed; NeMo Curator fails
  there.
version: 1
peer: BulletsFilter of NeMo Curator
params:
  max_bullet_lines_ratio: {type: float, default: 0.9, doc: Largest share.}
stats:
  bullet_ratio: {type: DOUBLE, most: 1, doc: Share of lines that begin with a bullet; NULL without lines.}
bounds:
  bullet_ratio: [null, max_bullet_lines_ratio]
examples:
  - {text: "• one\n  ◦ two\n\nend", stats: {bullet_ratio: 0.6666666666666666}, keep: true}
  - {text: "- one\n* two", stats: {bullet_ratio: 0.0}, keep: true}
  - {text: "• one\n \n• two", stats: {bullet_ratio: 1.0}, keep: false}
  - {text: "", stats: {bullet_ratio: null}, keep: false}
---*/
{%- set lines = feature('line_marks') %}
SELECT {{ lines }}.typed_bullets / nullif({{ lines }}.inked, 0) AS bullet_ratio
