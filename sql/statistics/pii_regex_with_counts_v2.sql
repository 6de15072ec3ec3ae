/*---
doc: >
  Count what may identify a person, as pii_regex_v1 does, its share per word, and its number. A text without words has no
  share; dolma fails there.
version: 1
peer: pii_regex_with_counts_v2 of dolma 1.2.1
params: {}
stats:
  EMAIL_ADDRESS: {type: BIGINT, doc: E-mail addresses.}
  PHONE_NUMBER: {type: BIGINT, doc: Phone numbers.}
  IP_ADDRESS: {type: BIGINT, doc: IPv4 addresses.}
  doc: {type: DOUBLE, doc: "All of them per word; NULL without words."}
  doc_count: {type: BIGINT, doc: All of them.}
examples:
  - {text: "write to a@b.org, or call (425) 882 9080 ", stats: {EMAIL_ADDRESS: 1, PHONE_NUMBER: 1, IP_ADDRESS: 0, doc_count: 2}}
  - {text: "version 1.2.3.4.5", stats: {EMAIL_ADDRESS: 0, PHONE_NUMBER: 0, IP_ADDRESS: 1, doc_count: 1}}
  - {text: "a@b.org", stats: {EMAIL_ADDRESS: 0, doc_count: 0}}
  - {text: "", stats: {EMAIL_ADDRESS: 0, doc: null, doc_count: 0}}
---*/
SELECT {{ feature('tagged_spans', tagger='pii_regex_v1') }} AS _spans,
    {% for type in ('EMAIL_ADDRESS', 'PHONE_NUMBER', 'IP_ADDRESS') %}
    len(list_filter(_spans, lambda s: s.type = '{{ type }}')) AS {{ type }},
    {% endfor %}
    len(_spans) / nullif({{ feature('split_words', rust=false) }}.words, 0) AS doc, len(_spans) AS doc_count
