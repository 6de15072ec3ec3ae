"""Private names of other packages that the source uses, each with the reason why no public means serves."""

from __future__ import annotations

# (file, name) -> reason. At most five.
ALLOWED: dict[tuple[str, str], str] = {
    ("refinery/io/python_data/kinds.py", "_indices"): (
        "datasets: True if rows were chosen or shuffled, so that the table in memory is not the dataset; "
        "without the name, every dataset is read as a stream"
    ),
    ("refinery/kernels/unicode/unicode_fixes_mojibake.py", "re._constants"): (
        "re: the parsed form of ftfy's pattern, from which the clues of mojibake are derived; an unknown shape "
        "sends every text beyond ASCII to ftfy itself"
    ),
    ("refinery/kernels/unicode/unicode_fixes_mojibake.py", "re._parser"): "re: as re._constants",
    ("refinery/execution/ray/connection.py", "ray._private.state"): (
        "ray: the most cores that a cluster grows to; no public function has them"
    ),
}
