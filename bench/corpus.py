"""Make a corpus for measurements: JSON lines of a given size.

    python bench/corpus.py OUT.jsonl                            300 MB of synthetic documents
    python bench/corpus.py OUT.jsonl --megabytes 30             a small one
    python bench/corpus.py OUT.jsonl --parquet docs.parquet     real documents, repeated until they are 300 MB
    CORPUS=docs.parquet python bench/corpus.py OUT.jsonl        the same

The synthetic corpus depends on the seed alone, byte for byte: 70 % of the documents are ASCII (English, Markdown, code,
links, e-mail addresses), 7 % English with curly quotes, the rest eight other languages. Documents have 0.5 to 18 kB.
A real corpus is converted once; copies after the first get different ids and a final word that names the copy.
An existing OUT.jsonl is kept unless --force is given.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pages
from prose import CODE, WORDS, Dice, Writer, email, link

SEED = 2037
MB = 1_000_000
UNITS = {"ascii": 30_000, "curly": 6_000}
UNITS_OTHER = 5_000

# Share of the documents, in percent.
MIX = {"ascii": 70, "curly": 7, "zh": 9, "es": 4, "de": 3, "fr": 2, "ru": 2, "ja": 1, "pt": 1, "ar": 1}
FLAWED = (pages.menu, pages.flat, pages.symbols, pages.numbers, pages.stutter, pages.again, pages.stub, pages.terse)
FLAWED_PERCENT = 6
COPIED_PERCENT = 3

# Sizes in bytes, each equally likely: the twentieths of a corpus whose mean is 3.6 kB.
SIZES: tuple[int, ...] = (500, 650, 800, 950, 1100, 1300, 1500, 1700, 1900, 2200)
SIZES += (2500, 2800, 3200, 3700, 4300, 5000, 6000, 7500, 10_500, 18_000)

# A unit is a part of a document in UTF-8, escaped for JSON, with the white space before it.
Units = tuple[list[bytes], npt.NDArray[np.int64]]


def escaped(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8")


def units_of(texts: list[str]) -> Units:
    """The escaped units, and the bytes of each before escaping."""
    return [escaped(text) for text in texts], np.array([len(text.encode("utf-8")) for text in texts], np.int64)


def unit(w: Writer) -> str:
    """Mostly a sentence within or at the start of a paragraph; sometimes after a heading, a list or code."""
    dice, sentence = w.dice, w.sentence()
    kind = dice.random()
    if kind < 0.68:
        return w.space + sentence
    if kind < 0.86:
        return f"\n\n{sentence}"
    if kind < 0.91:
        return f"\n\n## {w.title()}\n\n{sentence}"
    if kind < 0.95:
        name = dice.pick(list(CODE))
        return f"\n\n```{name}\n{CODE[name](dice)}```\n\n{sentence}"
    if kind < 0.97:
        items = (sentence, f"`{dice.pick(WORDS)}`: {w.sentence()}", f"[{dice.pick(WORDS)}]({link(dice)})")
        return "\n\n" + "\n".join(f"- {item}" for item in items) + f"\n\n{w.sentence()}"
    return f"\n\n{w.line('contact')} {email(dice)}\n\n{sentence}"


def pool(dice: Dice, name: str) -> Units:
    """The units of one entry of MIX."""
    lang = "en" if name in UNITS else name
    texts: list[str] = []
    while len(texts) < UNITS.get(name, UNITS_OTHER):
        w = Writer(dice, lang, 3)
        made = [unit(w) for _ in range(25)]
        texts += [pages.curly(text, dice) for text in made] if name == "curly" else made
    return units_of(texts)


class Draws:
    """Uniform numbers from the raw bits of PCG64, whose stream numpy promises to keep (unlike its distributions)."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def uniform(self, count: int) -> npt.NDArray[np.float64]:
        return (self._bits.random_raw(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def below(self, end: int, count: int) -> npt.NDArray[np.int64]:
        return (self.uniform(count) * end).astype(np.int64)


def documents(seed: int, batch: int = 4096) -> Iterator[tuple[bytes, int, str]]:
    """Escaped text, its size in bytes, and its entry of MIX; without end."""
    dice, draws = Dice(seed), Draws(seed)
    pools = {name: pool(dice, name) for name in MIX}
    names = [name for name, percent in MIX.items() for _ in range(percent)]
    flawed = units_of([kind(Writer(dice, "en", 2)) for kind in FLAWED for _ in range(60)])
    last: dict[str, npt.NDArray[np.int64]] = {}
    while True:
        sizes = draws.below(len(SIZES), batch).tolist()
        for size, which, fate, place in zip(sizes, *draws.uniform(3 * batch).reshape(3, batch).tolist(), strict=True):
            if fate * 100 < FLAWED_PERCENT:
                index = int(place * len(flawed[0]))
                yield flawed[0][index], int(flawed[1][index]), "flawed"
                continue
            name = names[int(which * len(names))]
            units, unit_sizes = pools[name]
            if fate * 100 < FLAWED_PERCENT + COPIED_PERCENT and name in last:
                picks = last[name].copy()
                picks[int(place * len(picks))] = 0
            else:
                picks = draws.below(len(units), max(2, int(SIZES[size] / unit_sizes.mean())))
                last[name] = picks
            yield b"".join(map(units.__getitem__, picks.tolist())), int(unit_sizes[picks].sum()), name


def synthetic(out: Path, megabytes: int, seed: int) -> None:
    written = 0
    with out.open("wb") as file:
        for number, (text, size, name) in enumerate(documents(seed)):
            source = name.encode()
            file.write(
                b'{"id": %d, "text": "%s", "source": "%s", "url": "https://%s.example.org/%d"}\n'
                % (number, text.removeprefix(b"\\n\\n"), source, source, number)
            )
            written += size
            if written >= megabytes * MB:
                return


def literal(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def from_parquet(source: Path, out: Path, megabytes: int) -> None:
    """Convert a Parquet file with DuckDB. `id` is shifted (integers) or suffixed (text) in copies after the first."""
    import duckdb

    table = f"read_parquet({literal(source)})"
    con = duckdb.connect()
    columns = {row[0]: row[1] for row in con.execute(f"DESCRIBE FROM {table}").fetchall()}
    size = con.execute(f"SELECT sum(strlen(text)) FROM {table}").fetchall()[0][0]
    numbered = "INT" in columns.get("id", "")
    step = con.execute(f"SELECT max(id) + 1 FROM {table}").fetchall()[0][0] if numbered else 0
    with tempfile.TemporaryDirectory(dir=out.parent) as folder, out.open("wb") as file:
        for copy in range(-(-megabytes * MB // size)):
            part = Path(folder) / "part.jsonl"
            con.execute(f"COPY ({copy_query(table, columns, copy, step)}) TO {literal(part)} (FORMAT json)").fetchall()
            with part.open("rb") as lines:
                shutil.copyfileobj(lines, file, 1 << 24)
    con.close()


def copy_query(table: str, columns: dict[str, str], copy: int, step: int) -> str:
    """Query for the rows of one copy. Its marker is a word of letters, since operators strip digits from words."""
    if copy == 0:
        return f"FROM {table}"
    marker = "copy" + chr(ord("a") + copy % 26) * (1 + copy // 26)
    changes = [f"text || chr(10) || {literal(marker)} AS text"]
    if "id" in columns:
        changes.append(f"id + {copy * step} AS id" if step else f"id || {literal(f'-{copy}')} AS id")
    return f"SELECT * REPLACE ({', '.join(changes)}) FROM {table}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--megabytes", type=int, default=300, help="bytes of text / 1e6, at least (default: 300)")
    parser.add_argument("--parquet", type=Path, default=os.environ.get("CORPUS") or None, help="real documents")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--force", action="store_true", help="write OUT.jsonl anew if it exists")
    arguments = parser.parse_args()
    out: Path = arguments.out
    if out.exists() and not arguments.force:
        print(f"{out.name} exists; --force writes it anew")
        return 0
    out.parent.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    unfinished = out.with_name(out.name + ".part")
    if arguments.parquet:
        from_parquet(arguments.parquet, unfinished, arguments.megabytes)
    else:
        synthetic(unfinished, arguments.megabytes, arguments.seed)
    unfinished.replace(out)
    print(f"{out.name}: {out.stat().st_size / MB:,.0f} MB in {time.perf_counter() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
