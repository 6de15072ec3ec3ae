"""Jobs of a peer's script: one line of results for each job; only the standard library, since each peer has its own Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Apply = Callable[[Any], dict[str, Any]]  # of a document; of a deduplicator, of all documents


def lines(path: str) -> list[Any]:
    """The values of a JSONL file; texts hold further line ends unescaped."""
    return [json.loads(line) for line in Path(path).read_bytes().decode().split("\n") if line]


def serve(make: Callable[[str, dict[str, Any]], Apply], docs: str, jobs: str, results: str) -> None:
    """Apply the operator of each job to each document. make: an operator's function, from its name and parameters."""
    documents = lines(docs)
    with Path(results).open("w", encoding="ascii", newline="\n") as file:
        for job in lines(jobs):
            file.write(json.dumps(done(make, job, documents)) + "\n")
            file.flush()


def done(make: Callable[[str, dict[str, Any]], Apply], job: dict[str, Any], documents: list[Any]) -> dict[str, Any]:
    try:
        apply = make(job["op"], dict(job["params"]))
    except Exception as error:  # the peer refuses the parameters
        return {"refused": repr(error)}
    if job.get("whole"):
        return one(apply, documents)
    return {"results": [one(apply, doc) for doc in documents]}


def one(apply: Apply, doc: Any) -> dict[str, Any]:
    """The result for a document, or for all documents together."""
    try:
        return apply(doc)
    except Exception as error:  # the peer fails on the document
        return {"failed": repr(error)}
