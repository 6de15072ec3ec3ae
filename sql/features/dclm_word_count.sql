/*---
doc: >
  Number of words as DCLM counts them. model: fasttext, uniseg (segments of UAX 29) or split. ignore_punctuation counts only words
  that begin with a letter or digit; ignore_whitespace leaves out blank ones.
version: 1
params: [model, ignore_punctuation, ignore_whitespace]
---*/
{%- set found = feature('unicode_words') if model == 'uniseg' else feature('cut_tokens', model=model) %}
{%- if ignore_punctuation and ignore_whitespace %}{{ found }}.alnum_first
{%- elif ignore_punctuation %}{{ found }}.alnum_first + {{ found }}.space_first
{%- elif ignore_whitespace %}{{ found }}.python_ink
{%- else %}{{ found }}.segments
{%- endif %}
