"""Text files and source code: each file is one sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from refinery.io.model import Shard, Source
from refinery.io.readers.model import Reader

if TYPE_CHECKING:
    import pyarrow as pa

    from refinery.io.batch import Batch
    from refinery.io.limits import ReadLimits

# Files that Data-Juicer's text formatter reads one at a time; .pdf and .docx need libraries that read those.
_SUFFIXES = """
    .txt .md .tex .asm .bat .cmd .c .h .cs .cpp .hpp .c++ .h++ .cc .hh .cmake .css .dockerfile .f90 .f .f03 .f08 .f77
    .f95 .for .fpp .go .hs .html .java .js .jl .lua .markdown .php .php3 .php4 .php5 .phps .phpt .pl .pm .pod .perl
    .ps1 .psd1 .psm1 .py .rb .rs .sql .scala .sh .bash .command .zsh .ts .tsx .vb .xml .rst .m .smali
"""


class Text(Reader):
    """A file is the sample's `text`."""

    name = "text"
    recipe_names = ("txt",)
    title = "txt and source code"
    suffixes = frozenset(_SUFFIXES.split())
    opaque = one_sample = True
    script = "io/rows_of_texts.sql"

    def batches(self, shard: Shard, limits: ReadLimits) -> Iterator[Batch]:
        """A sample for each of the shard's files."""
        from refinery.io.readers.typed import read_texts

        return read_texts(shard, limits)

    def schema(self, source: Source) -> pa.Schema:
        """One column, `text`."""
        import pyarrow as pa

        return pa.schema([("text", pa.string())])

    def count(self, shard: Shard) -> int:
        """The number of files."""
        return len(shard.sources)
