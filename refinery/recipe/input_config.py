"""One source of samples in a recipe."""

from __future__ import annotations

from dataclasses import dataclass, field

from refinery.io.chat_texts import TEMPLATE
from refinery.io.read_options import Options
from refinery.io.readers.registry import READABLE
from refinery.recipe.key import RecipeKey, key, read_from


@dataclass(frozen=True)
class InputConfig:
    """One source of samples.

    path: file, directory, glob or URL. weight: its share when `max_sample_num` limits the samples. format: name of
    a reader, or None if the file's suffix decides. files: those to read of a directory or glob, in this order; all if empty.
    left_out: a Parquet file with the numbers of samples to leave out; "" for none.
    """

    path: str = read_from(
        RecipeKey(
            "type",
            "str",
            "local",
            "`remote`: the path is a URL. `huggingface`: the path is a [dataset of the Hub](input.md#datasets-of-the-hub). `sql`: the rows of "
            "a query over a [database](input.md#databases).",
            choices=("local", "remote", "huggingface", "sql"),
            nullable=True,
        ),
        RecipeKey("", "str", "", "A file, folder, glob or [URL](input.md#urls). Required."),
        RecipeKey("name", "str", None, "Configuration of a dataset of the Hub.", nullable=True),
        RecipeKey(
            "split", "str", None, "Split of a dataset of the Hub: `train`, `test` or another one.", nullable=True
        ),
        RecipeKey("data_dir", "str", None, "Folder in a dataset of the Hub.", nullable=True),
        RecipeKey("data_files", "strings", (), "Files or patterns in a dataset of the Hub.", nullable=True),
        RecipeKey("database", "str", "", "A DuckDB or SQLite file, or `postgres://host/name`.", own=True),
        default="",
    )
    weight: float = key("float", 1.0, "Weight of the source when `max_sample_num` is divided.", min=0)
    format: str | None = read_from(
        RecipeKey(
            "", "str", None, "Format of the files; by default recognised by their contents.", READABLE, nullable=True
        ),
        RecipeKey(
            "source", "str", None, "Another name of `format`; with a URL also `s3` or `huggingface`.", nullable=True
        ),
        default=None,
    )
    options: Options = read_from(
        RecipeKey(
            "prefix",
            "str",
            "https://data.commoncrawl.org/",
            "List of paths (`warc.paths.gz`): the URL or folder before each path, with its last slash.",
            own=True,
        ),
        RecipeKey("query", "str", "", "A SELECT over the tables of the database.", own=True),
        RecipeKey(
            "text_from", "str", "", "Field with a list of chat messages, from which the field `text` is made.", own=True
        ),
        RecipeKey(
            "template",
            "str",
            TEMPLATE,
            "One message in that text: `{role}` and so on stand for the message's fields.",
            own=True,
        ),
        RecipeKey("delimiter", "str", None, "CSV: the character between fields; `,`, or a tab for TSV.", own=True),
        RecipeKey("quote", "str", '"', "CSV: the character around fields; empty for none.", own=True),
        RecipeKey("header", "bool", True, "CSV: the first record has the names of the columns.", own=True),
        RecipeKey(
            "columns",
            "strings",
            (),
            "CSV: names of the columns, in place of the header's; by default `column0` and so on without a header.",
            own=True,
        ),
        RecipeKey(
            "encoding",
            "str",
            "utf-8",
            "CSV: the encoding, such as `cp1252` or `utf-16`, as Python names it.",
            own=True,
        ),
        default=(),
    )
    files: tuple[str, ...] = key(
        "strings", (), "Folder or glob: the paths of the files to read, in this order; by default all.", own=True
    )
    left_out: str = key(
        "str",
        "",
        "A Parquet file whose column `row` has the numbers of samples to leave out, counted from 0 over the samples of all "
        "sources that name the file.",
        own=True,
    )
    line: int = field(default=0, compare=False)
