/*---
doc: >
  Remove paragraphs with a policy phrase such as `cookie policy`, in any letter case, if they are one block at the top or at
  the bottom of a text and not all of it; else the text stays. With remove_if_at_top_or_bottom false, a text with a policy
  phrase becomes empty; one with `lorem ipsum` always does. Paragraphs are cut at two line feeds.
version: 1
peer: BoilerPlateStringModifier of NeMo Curator
params:
  remove_if_at_top_or_bottom: {type: bool, default: true, doc: "Remove paragraphs at the top or the bottom; false: texts."}
examples:
  - {text: "We use cookies.\n\nA page.", out: "A page."}
  - {text: "A page.\n\nTerms of use\n\nPrivacy policy", out: "A page."}
  - {text: "Terms of use\n\nA page.\n\nPrivacy policy", out: "Terms of use\n\nA page.\n\nPrivacy policy"}
  - {text: "A\n\nTerms of use\n\nB", out: "A\n\nTerms of use\n\nB"}
  - {text: "A\n\nTerms of use", params: {remove_if_at_top_or_bottom: false}, out: ""}
  - {text: "Terms of use", out: "Terms of use"}
  - {text: "A\n\nLOREM IPSUM dolor\n\nB", out: ""}
  - {text: "", out: ""}
---*/
SELECT {{ feature('policy_paragraphs') }} AS _policies,
    list_filter(range(1, len(_policies) + 1), lambda i: _policies[i]) AS _places,
    CASE
        WHEN regexp_matches({{ text }}, '[lL][oO][rR][eE][mM] [iI][pP][sS][uU][mM]') THEN ''
        {% if remove_if_at_top_or_bottom %}
        WHEN len(_places) > 0 AND len(_places) < len(_policies) AND _places[-1] - _places[1] + 1 = len(_places)
            AND (_places[1] = 1 OR _places[-1] = len(_policies))
            THEN array_to_string(list_filter(string_split({{ text }}, chr(10) || chr(10)), lambda p, i: NOT _policies[i]),
                chr(10) || chr(10))
        {% else %}
        WHEN len(_places) > 0 THEN ''
        {% endif %}
    END AS delta
