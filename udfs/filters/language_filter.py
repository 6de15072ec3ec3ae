"""Filter on languages, found by fastText's model for 176 languages or by GlotLID, or by scores that samples have."""

from __future__ import annotations

from typing import Any

from refinery.kernels.models import fasttext

OPERATOR = {
    "doc": (
        "Keep samples for which a model of fastText gives one of `languages` a score above language_threshold; if "
        "`languages` is null, the best language must have such a score. Unlike in language_id_score_filter, texts "
        "are not lowered. Labels of GlotLID have a script, as in eng_Latn. refinery downloads no model. As dclm: keep samples "
        "whose mapping `key` from languages to scores gives one of keep_languages a score above `threshold`."
    ),
    "version": 2,
    "peer": "LanguageFilter of datatrove 0.10.1, language_filter of DCLM",
    "resources": {"loads": {"as": "datatrove"}},
    "params": {
        "as": {"type": "str", "default": "datatrove", "choices": ["datatrove", "dclm"], "doc": "Whose filter it is."},
        "languages": {
            "type": "str_or_list",
            "default": None,
            "nullable": True,
            "doc": "Language, or list of them, as the model names them; null: any.",
        },
        "language_threshold": {
            "type": "float",
            "default": 0.65,
            "doc": "Score that must be exceeded. It may depend on the language that is found: {language: {fr: 0.8, default: 0.65}}.",
        },
        "backend": {
            "type": "str",
            "default": "ft176",
            "choices": ["ft176", "glotlid"],
            "doc": "Labels of the model: languages, or with glotlid languages with a script, as GlotLID and OpenLID-v3 have them.",
        },
        "label_only": {"type": "bool", "default": False, "doc": "Measure, and keep all samples."},
        "keep_top_pairs_threshold": {
            "type": "float",
            "default": -1,
            "doc": "Also measure each of `languages` (or each language) with a score above this; -1: none.",
        },
        "model": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "lid.176.bin",
            "needed": {"as": "datatrove", "backend": "ft176"},
            "doc": "Model for ft176.",
        },
        "glotlid_model": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "cis-lmu/glotlid/model_v3.bin",
            "needed": {"as": "datatrove", "backend": "glotlid"},
            "doc": "Model for glotlid, or another with such labels. Models of gigabytes are mapped, not copied.",
        },
        "keep_languages": {
            "type": "list[str]",
            "default": None,
            "nullable": True,
            "doc": "As dclm: languages as the mapping names them.",
        },
        "key": {
            "type": "sql",
            "default": None,
            "nullable": True,
            "doc": "As dclm: field with a mapping from languages to scores.",
        },
        "threshold": {
            "type": "float",
            "default": None,
            "nullable": True,
            "default_when": [{"when": {"as": "dclm"}, "default": 0.0}],
            "doc": "As dclm: score that must be exceeded.",
        },
    },
    "stats": {
        "language": {"type": "VARCHAR", "doc": "Language with the highest score, without its script."},
        "language_score": {"type": "DOUBLE", "doc": "Its score."},
        "language_script": {"type": "VARCHAR", "doc": "With glotlid: its script."},
        "top_language_{languages}_score": {
            "type": "DOUBLE",
            "doc": "With keep_top_pairs_threshold: score of each of `languages`; NULL if it does not exceed that.",
        },
        "top_languages": {
            "type": "VARCHAR",
            "doc": "With keep_top_pairs_threshold, without languages: JSON object of the languages and scores that exceed it.",
        },
    },
    "checks": "check",
    "sql": """
        {% if params["as"] == "dclm" %}
        SELECT
          to_json({{ key }}) AS _scores,
          greatest(
            {%- for one in keep_languages %}{{ ", " if not loop.first }}(_scores ->> {{ ('$."' ~ one ~ '"') | lit }})::DOUBLE{% endfor -%}
          ) AS language_score,
          language_score > {{ threshold | lit }} AS keep
        {% else %}
        {% set wanted = [] if languages is none else [languages] if languages is string else languages %}
        {% set glotlid = backend == "glotlid" %}
        {% set found = feature(
            "fasttext", model=glotlid_model if glotlid else model, k=-1, labels=wanted | unique | join(" "), lower=false,
            newline=" ", strip=false
        ) %}
        {% set best = found ~ ".score" %}
        SELECT
        {% if glotlid %}
        split_part({{ found }}.label, '_', 1) AS language, split_part({{ found }}.label, '_', 2) AS language_script,
        {% else %}
        {{ found }}.label AS language,
        {% endif %}
        {{ best }} AS language_score,
        {% if keep_top_pairs_threshold != -1 %}
        {% for language in wanted | unique %}
        {% set score = "coalesce(" ~ found ~ ".scores[" ~ loop.index ~ "], 0)" %}
        CASE WHEN {{ best }} IS NOT NULL AND {{ score }} > {{ keep_top_pairs_threshold | lit }} THEN {{ score }} END
            AS {{ ("top_language_" ~ language ~ "_score") | ident }},
        {% else %}
        {{ feature("fasttext_top", model=glotlid_model if glotlid else model, threshold=keep_top_pairs_threshold) }} AS top_languages,
        {% endfor %}
        {% endif %}
        {% if label_only %}true
        {% elif wanted %}
        {# The last term decides. The others hold where it does, and name what a removed text is. #}
        {% set enough = "coalesce(list_max(" ~ found ~ ".scores), 0) > " ~ (language_threshold | lit) %}
        {% for column in (["language", "language_script"] if glotlid else ["language"]) %}
        {% set part = loop.index0 %}
        ({{ column }} IN (
            {%- for name in wanted | unique %}{{ ", " if not loop.first }}{{ (name.split("_")[part] if glotlid else name) | lit }}{% endfor -%}
        ) OR {{ enough }}) AND
        {% endfor %}
        (language_score > {{ language_threshold | lit }} OR {{ enough }}) AND {{ enough }}
        {% else %}{{ best }} > {{ language_threshold | lit }}
        {% endif %} AS keep
        {% endif %}
    """,
    "examples": [
        {
            "text": "",
            "params": {
                "as": "dclm",
                "keep_languages": ["en", "fr"],
                "key": "{'en': 0.1, 'fr': 0.7}",
                "threshold": 0.65,
            },
            "stats": {"language_score": 0.7},
            "keep": True,
        },
        {
            "text": "",
            "params": {"as": "dclm", "keep_languages": ["en"], "key": "'{\"en\": 0.65}'::JSON", "threshold": 0.65},
            "stats": {"language_score": 0.65},
            "keep": False,
        },
        {"text": "", "params": {"as": "dclm", "keep_languages": ["de"], "key": "{'en': 1.0}"}, "keep": False},
        {"text": "", "params": {"as": "dclm", "keep_languages": ["de"]}, "error": True},
        {
            "text": "",
            "params": {"as": "dclm", "keep_languages": ["de"], "key": "{'de': 1}", "languages": "de"},
            "error": True,
        },
        {
            "text": "the the",
            "params": {"model": "lid.bin", "languages": "en"},
            "files": {
                "lid.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fGpeXBBRrhgCkIbI5zFxIABHBgYGvYD6QNA2h6uAKEQKAhWAMb2ANgQIAs="
                    )
                }
            },
            "stats": {"language": "en", "language_score": 0.9820237755775452},
            "keep": True,
        },
        {
            "text": "the",
            "params": {"model": "lid.bin", "languages": ["de", "fr"], "language_threshold": 0.01},
            "files": {
                "lid.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fGpeXBBRrhgCkIbI5zFxIABHBgYGvYD6QNA2h6uAKEQKAhWAMb2ANgQIAs="
                    )
                }
            },
            "stats": {"language": "en", "language_score": 0.9525841474533081},
            "keep": True,
        },
        {
            "text": "der",
            "params": {
                "model": "lid.bin",
            },
            "files": {
                "lid.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fGpeXBBRrhgCkIbI5zFxIABHBgYGvYD6QNA2h6uAKEQKAhWAMb2ANgQIAs="
                    )
                }
            },
            "stats": {"language": "de", "language_score": 0.9525841474533081},
            "keep": True,
        },
        {
            "text": "The",
            "params": {"model": "lid.bin", "language_threshold": 0.4, "label_only": False},
            "files": {
                "lid.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fGpeXBBRrhgCkIbI5zFxIABHBgYGvYD6QNA2h6uAKEQKAhWAMb2ANgQIAs="
                    )
                }
            },
            "stats": {"language": "de", "language_score": 0.5000100135803223},
            "keep": True,
        },
        {
            "text": "The",
            "params": {"model": "lid.bin", "language_threshold": {"language": {"de": 0.6, "default": 0.4}}},
            "files": {
                "lid.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fGpeXBBRrhgCkIbI5zFxIABHBgYGvYD6QNA2h6uAKEQKAhWAMb2ANgQIAs="
                    )
                }
            },
            "stats": {"language": "de", "language_score": 0.5000100135803223},
            "keep": False,
        },
        {
            "text": "",
            "params": {"model": "lid.bin", "label_only": True},
            "files": {
                "lid.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fGpeXBBRrhgCkIbI5zFxIABHBgYGvYD6QNA2h6uAKEQKAhWAMb2ANgQIAs="
                    )
                }
            },
            "stats": {"language": "de", "language_score": 0.5000100135803223},
            "keep": True,
        },
        {
            "text": "the",
            "params": {"model": "lid.bin", "languages": ["fr", "de", "fr"], "keep_top_pairs_threshold": 0.01},
            "files": {
                "lid.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fGpeXBBRrhgCkIbI5zFxIABHBgYGvYD6QNA2h6uAKEQKAhWAMb2ANgQIAs="
                    )
                }
            },
            "stats": {
                "language": "en",
                "language_score": 0.9525841474533081,
                "top_language_fr_score": None,
                "top_language_de_score": 0.04743587225675583,
            },
            "keep": False,
        },
        {
            "text": "the",
            "params": {"model": "lid.bin", "keep_top_pairs_threshold": 0.01},
            "files": {
                "lid.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fGpeXBBRrhgCkIbI5zFxIABHBgYGvYD6QNA2h6uAKEQKAhWAMb2ANgQIAs="
                    )
                }
            },
            "stats": {"top_languages": '{"en": 0.9525841474533081, "de": 0.04743587225675583}'},
            "keep": True,
        },
        {
            "text": "der der",
            "params": {"glotlid_model": "lid.bin", "languages": "deu_Latn", "backend": "glotlid"},
            "files": {
                "lid.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fGpeenxPokleXApRrhUSmopmhScxcSAARwYGBr2A+kDQNoergChECgIVgDG9gDGPiTD"
                    )
                }
            },
            "stats": {"language": "deu", "language_score": 0.9820237755775452, "language_script": "Latn"},
            "keep": True,
        },
        {
            "text": "the",
            "params": {"model": "lid.bin", "languages": []},
            "files": {
                "lid.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fGpeXBBRrhgCkIbI5zFxIABHBgYGvYD6QNA2h6uAKEQKAhWAMb2ANgQIAs="
                    )
                }
            },
            "error": True,
        },
        {"text": "the", "params": {"model": "lid.bin", "backend": "other"}, "error": True},
    ],
}


def check(params: dict[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters, as sentences that name the cure."""
    mine = params.get("as") == "dclm"
    others = ("languages",) if mine else ("keep_languages", "key", "threshold")
    if wrong := [name for name in others if params.get(name) is not None]:
        return [f"{wrong[0]} has no effect with `as: {params['as']}`: leave it out, or set another `as`"]
    if mine:
        return [f"{name} is missing: `as: dclm` needs it" for name in ("keep_languages", "key") if not params[name]]
    glotlid = params["backend"] == "glotlid"
    name = "glotlid_model" if glotlid else "model"
    if problems := fasttext.problems(params[name], name):
        return problems
    if params["languages"] is not None and not params["languages"]:
        return ["languages is empty, so no sample would be kept: name languages, or set it to null for any"]
    given = params["languages"] or []
    if wrong := [one for one in ([given] if isinstance(given, str) else given) if len(one.split()) != 1]:
        return [f"languages: {wrong[0]!r} is no name of a language: names have no white space"]
    labels = fasttext.names(fasttext.load(params[name]))
    bare = next((label for label in labels if label.count("_") != 1), None) if glotlid else None
    return (
        []
        if bare is None
        else [f"{name} {params[name]} has labels without a script, such as {bare!r}: set backend to ft176"]
    )
