/*---
doc: >
  Count what may identify a person, within each line, and its share of the characters plus one (a fault of dolma that its
  thresholds include): 1 is none. E-mail addresses have a full stop behind the @ and a white space behind them; phone
  numbers are ten digits, perhaps with a bracket, and white space before them on the same line; IPv4 addresses are found
  within words and longer numbers, too. An empty text has -1; one with more than 10,000 question marks is not searched.
version: 1
peer: pii_regex_with_counts_fast_v2 of dolma 1.2.1
params: {}
stats:
  EMAIL_ADDRESS: {type: BIGINT, doc: E-mail addresses.}
  PHONE_NUMBER: {type: BIGINT, doc: Phone numbers.}
  IP_ADDRESS: {type: BIGINT, doc: IPv4 addresses.}
  doc_count: {type: BIGINT, doc: All of them.}
  doc_frac: {type: DOUBLE, doc: "Share of the characters in them, plus 1; -1 for an empty text."}
examples:
  - {text: "write to a@b.org, or call (425) 882 9080 ", stats: {EMAIL_ADDRESS: 1, PHONE_NUMBER: 1, IP_ADDRESS: 0, doc_count: 2, doc_frac: 1.6097560975609757}}
  - {text: "version 1.2.3.4.5", stats: {EMAIL_ADDRESS: 0, PHONE_NUMBER: 0, IP_ADDRESS: 1, doc_count: 1}}
  - {text: "a@b.org", stats: {EMAIL_ADDRESS: 0, doc_count: 0, doc_frac: 1.0}}
  - {text: "isbn, call 425 882 9080\n425 882 9080", stats: {PHONE_NUMBER: 1}}
  - {text: "", stats: {EMAIL_ADDRESS: 0, doc_count: 0, doc_frac: -1.0}}
---*/
SELECT {{ feature('tagged_spans', tagger='pii_regex_with_counts_fast_v2') }} AS _spans,
    {% for type in ('EMAIL_ADDRESS', 'PHONE_NUMBER', 'IP_ADDRESS') %}
    len(list_filter(_spans, lambda s: s.type = '{{ type }}')) AS {{ type }},
    {% endfor %}
    len(_spans) AS doc_count,
    coalesce((coalesce(list_sum(list_transform(_spans, lambda s: s.end - s.start)), 0) + length({{ text }}))
        / nullif(length({{ text }}), 0), -1) AS doc_frac
