"""FineWeb's filters after extraction and the formatter of addresses, by datatrove, over JSON lines.

    DATATROVE/bin/python bench/peers/datatrove_fineweb.py corpus.jsonl out.jsonl --steps pipeline

Needs a Python with datatrove and spaCy. The blocks are called one document after another, without datatrove's executor,
readers and writers. Prints the processor seconds of the blocks alone, once their tokenizer is loaded, as its last line. The
kept texts, or with one step each verdict, go to the second file.
"""

from __future__ import annotations

import argparse
import json
import time
from importlib.metadata import version
from pathlib import Path

from common import report


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", default="pipeline")
    arguments = parser.parse_args()
    from datatrove.data import Document
    from datatrove.pipeline.filters import (
        C4QualityFilter,
        FineWebQualityFilter,
        GopherQualityFilter,
        GopherRepetitionFilter,
    )
    from datatrove.pipeline.formatters import PIIFormatter

    blocks = {
        "gopher_repetition_filter": GopherRepetitionFilter(),
        "gopher_quality_filter": GopherQualityFilter(),
        "c4_quality_filter": C4QualityFilter(filter_no_terminal_punct=False),
        "fineweb_quality_filter": FineWebQualityFilter(),
    }
    chosen = blocks if arguments.steps == "pipeline" else {arguments.steps: blocks[arguments.steps]}
    formatter = PIIFormatter()
    lines = arguments.source.read_bytes().decode().split("\n")
    documents = [Document(text=json.loads(line)["text"], id=str(at)) for at, line in enumerate(lines) if line]
    for block in chosen.values():  # loads the tokenizer
        block.filter(Document(text="One text.", id=""))
    started = time.process_time()
    kept = []
    for document in documents:
        if all(_passes(block.filter(document)) for block in chosen.values()):
            text = formatter.format(document.text) if len(chosen) > 1 else document.text
            kept.append({"row": int(document.id), "text": text})
    seconds = time.process_time() - started
    arguments.out.write_bytes("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in kept).encode())
    report(version=version("datatrove"), cpu_seconds=seconds, kept=len(kept))


def _passes(verdict: bool | tuple[bool, str]) -> bool:
    return verdict[0] if isinstance(verdict, tuple) else verdict


if __name__ == "__main__":
    main()
