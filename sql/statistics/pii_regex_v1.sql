/*---
doc: >
  Count what may identify a person, and its share per word. E-mail addresses have a full stop behind the @ and a white space behind them; phone numbers are ten digits, perhaps with a
  bracket, and white space before them; IPv4 addresses are found within words and longer numbers, too. A number within
  100 characters of `isbn`, `doi` or # is none. A text without words has no share; dolma fails there.
version: 1
peer: pii_regex_v1 of dolma 1.2.1
params: {}
stats:
  EMAIL_ADDRESS: {type: BIGINT, doc: E-mail addresses.}
  PHONE_NUMBER: {type: BIGINT, doc: Phone numbers.}
  IP_ADDRESS: {type: BIGINT, doc: IPv4 addresses.}
  doc: {type: DOUBLE, doc: "All of them per word; NULL without words."}
examples:
  - {text: "write to a@b.org, or call (425) 882 9080 ", stats: {EMAIL_ADDRESS: 1, PHONE_NUMBER: 1, IP_ADDRESS: 0, doc: 0.25}}
  - {text: "version 1.2.3.4.5", stats: {EMAIL_ADDRESS: 0, PHONE_NUMBER: 0, IP_ADDRESS: 1, doc: 0.5}}
  - {text: "a@b.org", stats: {EMAIL_ADDRESS: 0, doc: 0.0}}
  - {text: "isbn, call 425 882 9080", stats: {PHONE_NUMBER: 0, doc: 0.0}}
  - {text: "", stats: {EMAIL_ADDRESS: 0, doc: null}}
---*/
SELECT {{ feature('tagged_spans', tagger='pii_regex_v1') }} AS _spans,
    {% for type in ('EMAIL_ADDRESS', 'PHONE_NUMBER', 'IP_ADDRESS') %}
    len(list_filter(_spans, lambda s: s.type = '{{ type }}')) AS {{ type }},
    {% endfor %}
    len(_spans) / nullif({{ feature('split_words', rust=false) }}.words, 0) AS doc
