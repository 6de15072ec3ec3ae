/*---
doc: >
  Remove samples with an XML header, `<?xml version=`, within their first char_prefix_search_length characters: XML files
  with the suffix of another language.
version: 1
peer: XMLHeaderFilter of NeMo Curator
params:
  char_prefix_search_length: {type: int, default: 100, doc: Characters that are searched.}
stats:
  xml_header: {type: BIGINT, most: 1, doc: 1 for a text with the header; else 0.}
examples:
  - {text: "<?xml version=\"1.0\"?>", stats: {xml_header: 1}, keep: false}
  - {text: "<?xml version=\"1.0\"?>", params: {char_prefix_search_length: 13}, stats: {xml_header: 0}, keep: true}
  - {text: "<?XML VERSION=\"1.0\"?>", stats: {xml_header: 0}, keep: true}
  - {text: "<?xml version=\"1.0\"?>", params: {char_prefix_search_length: -20}, stats: {xml_header: 0}, keep: true}
  - {text: "", stats: {xml_header: 0}, keep: true}
---*/
SELECT contains(left({{ text }}, {{ char_prefix_search_length | lit }}), '<?xml version=')::BIGINT AS xml_header,
    xml_header < 1 AS keep_xml_header
