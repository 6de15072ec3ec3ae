"""Table (Markdown) of the differences between `words: fast` and `words: spacy` on real text, by statistic.

    python bench/words.py documents.parquet
    python bench/words.py corpus.jsonl --rows 2000

Runs word_stats, sentence_stats and words_contamination_stats with both on the same rows, and prints for each statistic
both means, the mean absolute difference, Pearson's correlation, and the number of texts that differ. Needs
the extra spacy.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import refinery

STEPS: dict[str, dict[str, Any]] = {
    "word_stats": {},
    "sentence_stats": {},
    "words_contamination_stats": {"words": ["function", "the", "python"]},
}
COMPARED = """
    SELECT avg(f) AS fast, avg(s) AS spacy, avg(abs(f - s)) AS difference, corr(f, s) AS correlation,
        count(*) FILTER (WHERE f <> s) AS differing, count(*) AS texts
    FROM (SELECT CAST(fast."{name}" AS DOUBLE) AS f, CAST(spacy."{name}" AS DOUBLE) AS s
        FROM fast.stats AS fast JOIN spacy.stats AS spacy USING (_row))
"""


def measure(source: Path, folder: Path, words: str, rows: int) -> refinery.Run:
    """Statistics of the first rows, with words from `fast` or `spacy`."""
    steps = [
        {name: {**own, "words_from" if name.startswith("words_") else "words": words}} for name, own in STEPS.items()
    ]
    recipe = {
        "project_name": words,
        "dataset": {"configs": [{"type": "local", "path": str(source)}], "max_sample_num": rows},
        "export_path": str(folder / words / "none.jsonl"),
        "export_type": "none",
        "process": steps,
    }
    return refinery.run(recipe)


def compare(fast: refinery.Run, spacy: refinery.Run) -> list[tuple[Any, ...]]:
    """Name, both means, mean difference, correlation, differing texts and all texts, for each statistic."""
    import duckdb

    with duckdb.connect() as con:
        for name, run in (("fast", fast), ("spacy", spacy)):
            con.execute(f"ATTACH '{run.database}' AS {name} (READ_ONLY)")
        names = [row[0] for row in con.execute("DESCRIBE fast.stats").fetchall()][2:]
        return [(name, *con.execute(COMPARED.format(name=name)).fetchall()[0]) for name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("--rows", type=int, default=5000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        runs = [measure(arguments.source, Path(work), words, arguments.rows) for words in ("fast", "spacy")]
        print("| statistic | mean, fast | mean, spacy | mean absolute difference | correlation | texts that differ |")
        print("|---|---|---|---|---|---|")
        for name, fast, spacy, difference, correlation, differing, texts in compare(*runs):
            said = "-" if correlation is None else f"{correlation:.8f}"
            print(f"| `{name}` | {fast:.6g} | {spacy:.6g} | {difference:.2g} | {said} | {differing:,} of {texts:,} |")


if __name__ == "__main__":
    main()
