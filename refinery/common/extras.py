"""The distribution's name, and the packages that its extras bring: cures of messages about a missing package."""

from __future__ import annotations

# The package index has another project of the name refinery; package and command of this one are called so nevertheless.
DISTRIBUTION = "corpus-refinery"

# Requirements of the extras that messages name, as pyproject.toml has them (tests/common/test_extras.py).
REQUIREMENTS = {
    "kernels": ("llvmlite>=0.44", "numba>=0.61"),
    "code": ("beautifulsoup4>=4.12", "comment-parser>=1.2"),
    "tokenizers": ("tokenizers>=0.19",),
    "sentencepiece": ("sentencepiece>=0.2",),
    "embeddings": ("model2vec>=0.4",),
    "transformers": ("sentence-transformers>=3",),
    "spacy": ("jieba>=0.42", "spacy>=3.8"),
    "languages": (
        "indic-nlp-library>=0.92",
        "jieba>=0.42",
        "khmer-nltk>=1.6",
        "kiwipiepy>=0.20,<0.21",
        "laonlp>=1.2",
        "pythainlp>=5",
        "pyvi>=0.1.1",
        "spacy>=3.8",
        "sudachidict-core>=20240716",
        "sudachipy>=0.6.9",
    ),
    "urls": ("tldextract>=5",),
    "web": (
        "blingfire>=0.1.8",
        "fastwarc>=2",
        "justext>=3.0",
        "lxml-html-clean>=0.4",
        "nltk>=3.9",
        "resiliparse>=0.15",
        "trafilatura>=2.0",
    ),
    "explore": ("starlette>=0.40", "uvicorn>=0.30"),
    "remote": ("fsspec>=2024.2", "s3fs>=2024.2"),
    "ray": ("ray[default,data,client]>=2.40",),
}

# Packages that messages call by the names of their projects.
_PROJECTS = {"ray": "Ray"}


def install_command(extra: str) -> str:
    """The command that brings the packages of an extra, wherever refinery itself came from; an unknown extra is a package."""
    packages = " ".join(f"'{requirement}'" for requirement in REQUIREMENTS.get(extra, (extra,)))
    return f"pip install {packages}" + (f" (extra {extra} of {DISTRIBUTION})" if extra in REQUIREMENTS else "")


def lacks(what: str, extra: str, error: ImportError) -> str:
    """Message that something needs a package of an extra, with the package that is missing and the cure."""
    missing = str(error.name or "").partition(".")[0] or extra
    named = _PROJECTS.get(missing, f"the Python package {missing!r}")
    return f"{what} needs {named}, which is not installed: {install_command(extra)}"
