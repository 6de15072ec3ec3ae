"""Versions of everything that results depend on: refinery's own code, and the libraries that it and operators use."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata as metadata
import os
import platform
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path

from refinery.common.packages import installed_version
from refinery.common.source_files import add_contents, files_below
from refinery.common.version import IMPORTED, PACKAGE, __version__
from refinery.kernels.core.library import compiler
from refinery.operators.home import shipped
from refinery.operators.local_code import sources_in
from refinery.operators.user_code import imported_modules

# Packages of refinery that decide no stored result, and why. All others count, with the sources of shipped operators.
LEFT_OUT = {
    "cli": "reads command lines and prints",
    "execution/ray": "sends shards to where `workers` runs them, and joins match keys as `dedup` does",
    "explore": "shows what runs have stored",
    "inspect": "reads what runs have stored, and keeps nothing",
    "monitoring": "watches a run",
    "python": "gives Python programs what others compute",
    "tracer": "writes traces of others' operators",
}
_LEFT_OUT = tuple(f"{package}/" for package in LEFT_OUT)
# Requirements of refinery and of its extras that compute results; pyproject.toml has them all (tests/operators/test_versions.py).
COMPUTING = (
    "duckdb", "fastwarc", "ftfy", "indic-nlp-library", "jinja2", "jieba", "khmer-nltk", "kiwipiepy", "laonlp", "numpy", "pyarrow",
    "pythainlp", "pyvi", "pyyaml", "regex", "resiliparse", "selectolax", "sentencepiece", "spacy", "sqlglot",
    "sudachidict-core", "sudachipy", "tldextract", "tokenizers",
)  # fmt: skip
# Packages that these call where they are installed: for names of hosts, and words of languages.
_BEHIND = ("idna", "kiwipiepy-model", "natto-py", "spacy-pkuseg")
# Requirements, also of extras, that compute no result, and extras that compute those of one operator alone.
# Of the build alone (see `kernels.core.library.compiler`): llvmlite, numba.
FOR_SHOW = {"click", "fsspec", "llvmlite", "numba", "psutil", "ray", "rich", "s3fs", "starlette", "uvicorn", "xxhash"}
OF_OPERATORS = {
    "embedding_mapper": ("model2vec", "sentence-transformers"),
    "general_comment_to_code_filter": ("comment-parser",),
    "html_boilerplate_filter": ("beautifulsoup4",),
    "page_length_filter": ("blingfire", "nltk"),
    "extract_html_mapper": ("justext", "lxml-html-clean", "resiliparse", "trafilatura"),
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"extra\s*==")


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of all dependencies that every result has."""
    python = ".".join(platform.python_version_tuple()[:2])  # the tables of Unicode come with it
    own = {"refinery": __version__, "python": python, "sources": own_sources(PACKAGE), "kernels": compiler()}
    return installed((*COMPUTING, *_BEHIND)) | own


def libraries_of_shipped(name: str) -> dict[str, str]:
    """Versions of the packages that only this shipped operator calls, with their requirements."""
    return _installed(OF_OPERATORS.get(name, ()))


def own_sources(home: Path) -> str:
    """A digest of refinery's code and shipped operators, because a checkout changes without a new version."""
    whole = hashlib.sha256()
    add_contents(whole, _sources(home))
    return whole.hexdigest()


def sources_changed() -> bool:
    """True if a source of `own_sources` changed after this process began to import refinery: it may run older code.

    By the time of the file's last status change, which nobody can set.
    """
    return any(os.stat(path).st_ctime >= IMPORTED for _, path in _sources(PACKAGE))


def _sources(home: Path) -> Iterator[tuple[str, str]]:
    """Files that decide stored results: their names in the folder that has them, and their paths."""
    root = shipped()
    yield from ((name, path) for name, path in files_below(str(home)) if not is_left_out(name))
    for folder in ("sql", "udfs"):
        yield from files_below(str(root / folder))


def is_left_out(name: str) -> bool:
    """True for a file below a package of LEFT_OUT. name: its path in refinery's folder."""
    return name.startswith(_LEFT_OUT)


def libraries(path: Path) -> dict[str, str]:
    """Versions of the installed packages that a Python file imports, with their requirements.

    Imports of the modules that the file takes from outside of installed packages count, too.
    """
    local = imported_modules(path)
    names = {name for file in (path, *local.values()) for text in sources_in(file) for name in _imports(text)}
    elsewhere = names - {"refinery", *local}
    return _installed({distribution for name in elsewhere for distribution in _distributions(name)})


def installed(names: Iterable[str]) -> dict[str, str]:
    """Versions of those of the packages that are installed here."""
    return {name: version for name in names if (version := _version(name)) is not None}


def _imports(text: bytes) -> Iterator[str]:
    """Top-level names of the modules that a Python text imports."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _distributions(module: str) -> list[str]:
    """The packages that contain a module: `yaml` comes from PyYAML."""
    try:
        return [metadata.distribution(module).metadata["Name"]]
    except metadata.PackageNotFoundError:
        import sys

        return [] if module in sys.stdlib_module_names else _by_module().get(module, [])


@cache
def _by_module() -> dict[str, list[str]]:
    return {module: sorted(set(names)) for module, names in metadata.packages_distributions().items()}


def _installed(names: Iterable[str]) -> dict[str, str]:
    """Versions of packages and of all their requirements, as far as they are installed."""
    versions: dict[str, str] = {}
    todo = sorted(names)
    while todo:
        name = todo.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        version = _version(name) if key not in versions else None
        if version is not None:
            versions[key] = version
            todo += _required(name)
    return dict(sorted(versions.items()))


def _version(name: str) -> str | None:
    try:
        return installed_version(name)
    except metadata.PackageNotFoundError:
        return None


@cache
def _requirements(name: str) -> tuple[str, ...]:
    try:
        return tuple(metadata.requires(name) or ())
    except metadata.PackageNotFoundError:
        return ()


def _required(name: str) -> list[str]:
    """Names of the packages that a package requires, without those of its extras."""
    names = []
    for requirement in _requirements(name):
        named = _NAME.match(requirement)
        if named and not _EXTRA.search(requirement):
            names.append(named[0])
    return names
