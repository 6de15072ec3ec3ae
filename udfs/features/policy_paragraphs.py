"""Paragraphs with phrases of notices on cookies, terms and privacy, as NeMo Curator seeks them."""

FEATURE = {
    "doc": (
        "True or false for each paragraph of a text, cut at two line feeds: true if it has a policy phrase, in any letter "
        "case. An empty list if no paragraph has one."
    ),
    "version": 1,
    "sql": r"""
        {#- Of fourteen phrases those are left out that hold another one. Python lowers İ to two characters. -#}
        {%- set phrases -%}
        'terms of use|privacy policy|cookie policy|uses cookies|privacy overview|use of cookies|use cookies'
            || '|privacy & cookies policy|privacy and cookies policy'
            || '|necessary cookies are absolutely essential for the website to function properly\. this category only '
            || 'includes cookies that ensures basic functionalities and security features of the website\. these cookies '
            || 'do not store any personal information\.'
            || '|any cookies that may not be particularly necessary for the website to function and is used specifically '
            || 'to collect user personal data via analytics, ads, other embedded contents are termed as non-necessary '
            || 'cookies\. it is mandatory to procure user consent prior to running these cookies on your website\.'
            || '|if you continue to browse this site without changing your cookie settings, you agree to this use\. '
            || 'acceptread more'
        {%- endset -%}
        CASE WHEN regexp_matches({{ text }}, '(?i)cookie|terms of use|privacy (?:policy|overview)') THEN
            list_transform(
                string_split(lower(replace({{ text }}, 'İ', '_')), chr(10) || chr(10)),
                lambda p: regexp_matches(p, {{ phrases }})
            )
        ELSE []::BOOLEAN[] END
    """,
}
