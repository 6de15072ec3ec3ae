"""Filter on the share of comments and docstrings in Python code."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings

import pyarrow as pa

OPERATOR = {
    "doc": (
        "Keep samples in which comments and docstrings have a share of the characters of Python code in "
        "[min_comment_to_code_ratio, max_comment_to_code_ratio]. Comments count with their #; docstrings are those of "
        "modules, classes and functions (not async ones), without their indentation. Code that the running Python "
        "cannot parse has 0. An empty text is removed; NeMo Curator fails there."
    ),
    "version": 1,
    "peer": "PythonCommentToCodeFilter of NeMo Curator",
    "params": {
        "min_comment_to_code_ratio": {"type": "float", "default": 0.01, "doc": "Smallest share."},
        "max_comment_to_code_ratio": {"type": "float", "default": 0.85, "doc": "Largest share."},
    },
    "stats": {
        "python_comment_ratio": {
            "type": "DOUBLE",
            "doc": "Characters of comments and docstrings per character; NULL for an empty text.",
        }
    },
    "bounds": {"python_comment_ratio": ["min_comment_to_code_ratio", "max_comment_to_code_ratio"]},
    "functions": {
        "python_comment_chars": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "BIGINT",
            "runs": "python",
            "call": "python_comment_chars",
        }
    },
    "sql": """
        SELECT python_comment_chars({{ text }}) / nullif(length({{ text }}), 0) AS python_comment_ratio
    """,
    "examples": [
        {"text": "x = 1  # one\n", "stats": {"python_comment_ratio": 0.38461538461538464}, "keep": True},
        {
            "text": 'def f():\n    """Doc.\n\n    More.\n    """\n',
            "stats": {"python_comment_ratio": 0.275},
            "keep": True,
        },
        {"text": "def f(:\n# a comment\n", "stats": {"python_comment_ratio": 0.0}, "keep": False},
        {"text": "x = 1\n", "stats": {"python_comment_ratio": 0.0}, "keep": False},
        {"text": "", "stats": {"python_comment_ratio": None}, "keep": False},
    ],
}


def python_comment_chars(column: pa.Array) -> pa.Array:
    """Characters of the comments and docstrings of each text; NULL for NULL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes in the code
        return pa.array([None if text is None else comment_chars(text) for text in column.to_pylist()], pa.int64())


def comment_chars(source: str) -> int:
    """Characters of comments, and of docstrings joined by line feeds; 0 for code that is no Python."""
    try:
        nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.ClassDef, ast.FunctionDef, ast.Module))]
        docstrings = "\n".join(filter(None, map(ast.get_docstring, nodes)))
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return 0
    return len(docstrings) + sum(len(token.string) for token in tokens if token.type == tokenize.COMMENT)
