/*---
doc: >
  Count what may identify a person, as pii_regex_v1 does, and its share per word. A text without words has -1.
version: 1
peer: pii_regex_v2 of dolma 1.2.1
params: {}
stats:
  EMAIL_ADDRESS: {type: BIGINT, doc: E-mail addresses.}
  PHONE_NUMBER: {type: BIGINT, doc: Phone numbers.}
  IP_ADDRESS: {type: BIGINT, doc: IPv4 addresses.}
  doc: {type: DOUBLE, doc: "All of them per word; -1 without words."}
examples:
  - {text: "write to a@b.org, or call (425) 882 9080 ", stats: {EMAIL_ADDRESS: 1, PHONE_NUMBER: 1, IP_ADDRESS: 0, doc: 0.25}}
  - {text: "version 1.2.3.4.5", stats: {EMAIL_ADDRESS: 0, PHONE_NUMBER: 0, IP_ADDRESS: 1, doc: 0.5}}
  - {text: "a@b.org", stats: {EMAIL_ADDRESS: 0, doc: 0.0}}
  - {text: "", stats: {EMAIL_ADDRESS: 0, doc: -1.0}}
---*/
SELECT {{ feature('tagged_spans', tagger='pii_regex_v1') }} AS _spans,
    {% for type in ('EMAIL_ADDRESS', 'PHONE_NUMBER', 'IP_ADDRESS') %}
    len(list_filter(_spans, lambda s: s.type = '{{ type }}')) AS {{ type }},
    {% endfor %}
    coalesce(len(_spans) / nullif({{ feature('split_words', rust=false) }}.words, 0), -1) AS doc
