"""Settings of extractors: the parameters of each library, and the values that pipelines give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refinery.common.extras import install_command
from refinery.errors import did_you_mean

# Parameters of each library, by its own names; those of refinery beside them are `required_stopword_density` and `keep_boilerplate`.
LIBRARIES: dict[str, tuple[str, ...]] = {
    "trafilatura": (
        "favor_precision", "favor_recall", "fast", "include_comments", "include_tables", "include_images", "include_links",
        "include_formatting", "deduplicate", "output_format", "prune_xpath", "min_extracted_size", "min_output_size",
        "min_duplcheck_size", "max_repetitions", "max_tree_size", "stoplist", "stoplist_key", "required_stopword_density",
    ),
    "resiliparse": (
        "preserve_formatting", "main_content", "list_bullets", "alt_texts", "links", "form_fields", "noscript", "comments",
        "post_meta", "hidden_elements", "skip_elements", "stoplist", "stoplist_key", "required_stopword_density",
    ),
    "justext": (
        "stoplist", "stoplist_key", "length_low", "length_high", "stopwords_low", "stopwords_high", "max_link_density",
        "max_heading_distance", "no_headings", "keep_boilerplate",
    ),
}  # fmt: skip

# Packages of the libraries.
PACKAGES = {"trafilatura": "trafilatura", "resiliparse": "resiliparse", "justext": "justext"}

# A line of NeMo Curator stays if at least this share of its words are stop words.
_DENSITY = 0.32

# The values of each pipeline; `library` stands for those of the library itself.
PEERS: dict[tuple[str, str], dict[str, Any]] = {
    ("trafilatura", "library"): {},
    ("trafilatura", "datatrove"): {"favor_precision": True, "include_comments": False, "deduplicate": True},
    ("trafilatura", "nemo"): {"deduplicate": True, "stoplist": "English", "required_stopword_density": _DENSITY},
    ("resiliparse", "library"): {},
    ("resiliparse", "dclm"): {"main_content": True},
    ("resiliparse", "dolma"): {
        "preserve_formatting": True,
        "main_content": True,
        "list_bullets": True,
        "alt_texts": False,
        "links": False,
        "form_fields": False,
        "noscript": False,
        "comments": True,
    },
    ("resiliparse", "nemo"): {
        "main_content": True,
        "alt_texts": False,
        "stoplist": "English",
        "required_stopword_density": _DENSITY,
    },
    ("justext", "library"): {"stoplist": "English", "keep_boilerplate": False},
    ("justext", "dclm"): {"stoplist": "", "keep_boilerplate": True},
    ("justext", "nemo"): {"stoplist": "English"},
}
# The pipeline whose values a library has where the recipe names none.
OWN_PEER = {"trafilatura": "datatrove", "resiliparse": "dclm", "justext": "nemo"}


def chosen(params: Mapping[str, Any]) -> dict[str, Any]:
    """The values for a library: those of the pipeline, and in their place those that the recipe gives."""
    by = params["by"]
    given = {name: params[name] for name in LIBRARIES[by] if params.get(name) is not None}
    return {**PEERS[by, params["as"] or OWN_PEER[by]], **given}


def problems(params: Mapping[str, Any]) -> list[str]:
    """Problems of parameters that a library or a pipeline does not have."""
    by, peer = params["by"], params["as"] or OWN_PEER[params["by"]]
    known = [name for library, name in PEERS if library == by]
    if peer not in known:
        others = [library for library, name in PEERS if name == peer]
        return [f"as: {peer} does not use {by}: give by: {' or '.join(others)}, or as: {' or '.join(known)}"]
    every = {name for names in LIBRARIES.values() for name in names}
    lacking = sorted(name for name in every - {*LIBRARIES[by]} if params.get(name) is not None)
    return [_lack(by, name) for name in lacking]


def _lack(by: str, name: str) -> str:
    having = [library for library, names in LIBRARIES.items() if name in names]
    return f"{by} has no parameter {name}, which is one of {' and '.join(having)}{did_you_mean(name, LIBRARIES[by])}"


def missing(packages: list[str]) -> list[str]:
    """The problem of packages that are not installed."""
    named = ", ".join(packages)
    return (
        [f"needs the Python package{'s' if len(packages) > 1 else ''} {named}: {install_command('web')}"]
        if packages
        else []
    )
