/*---
doc: Number of the pieces of a text, cut at `end`, that have more than white space (of str.isspace).
version: 1
params: [end]
---*/
len(list_filter(string_split({{ text }}, {{ end | lit }}), lambda piece: regexp_matches(piece, '[^\t-\r\x{1C}-\x{20}\x{85}\p{Z}]')))
