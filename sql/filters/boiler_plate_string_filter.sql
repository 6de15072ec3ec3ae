/*---
doc: >
  Keep samples in which at most max_boilerplate_string_ratio of the paragraphs, cut at two line feeds, have a policy phrase
  such as `cookie policy`, in any letter case. A text with `lorem ipsum` has 1, an empty one 0.
  remove_if_at_top_or_bottom has no effect, as in NeMo Curator.
version: 1
peer: BoilerPlateStringFilter of NeMo Curator
params:
  remove_if_at_top_or_bottom: {type: bool, default: true, doc: Without effect.}
  max_boilerplate_string_ratio: {type: float, default: 0.4, doc: Largest share.}
stats:
  boilerplate_string_ratio: {type: DOUBLE, most: 1, doc: Share of paragraphs with a policy phrase.}
bounds:
  boilerplate_string_ratio: [null, max_boilerplate_string_ratio]
examples:
  - {text: "A page.\n\nSee our Privacy Policy.", stats: {boilerplate_string_ratio: 0.5}, keep: false}
  - {text: "We use cookies\nand more\n\none\n\ntwo", stats: {boilerplate_string_ratio: 0.3333333333333333}, keep: true}
  - {text: "one\n\n\n\nLorem Ipsum", stats: {boilerplate_string_ratio: 1.0}, keep: false}
  - {text: "lorem\nipsum, use\ncookies", stats: {boilerplate_string_ratio: 0.0}, keep: true}
  - {text: "", stats: {boilerplate_string_ratio: 0.0}, keep: true}
---*/
SELECT {{ feature('policy_paragraphs') }} AS _policies,
    CASE WHEN regexp_matches({{ text }}, '[lL][oO][rR][eE][mM] [iI][pP][sS][uU][mM]') THEN 1
        ELSE coalesce(len(list_filter(_policies, lambda p: p)) / nullif(len(_policies), 0), 0) END
        AS boilerplate_string_ratio
