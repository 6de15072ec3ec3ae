"""Messages for a recipe's author: `traps.txt` has wrong recipes and the message for each.

UPDATE_GOLDEN=1 rewrites the answers; read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

from refinery.errors import RecipeError
from refinery.recipe import loads
from tests.recipe.fake_library import FOUNDATION

TRAPS = Path(__file__).with_name("traps.txt")


def answers(text: str) -> str:
    try:
        recipe = loads(text, library=FOUNDATION, environ={})
    except RecipeError as error:
        return f"{error}\n"
    return "".join(f"accepted, {note}\n" for note in recipe.ignored) or "accepted\n"


def test_every_trap_is_answered_in_the_recorded_words() -> None:
    said = []
    for section in TRAPS.read_text(encoding="utf-8").split("=== ")[1:]:
        name, _, rest = section.partition("\n")
        recipe = rest.partition("--- \n")[0].partition("--> says\n")[0]
        said.append(f"=== {name}\n{recipe}--> says\n{answers(recipe)}")
    if os.environ.get("UPDATE_GOLDEN"):
        TRAPS.write_text("".join(said), encoding="utf-8")
    assert "".join(said) == TRAPS.read_text(encoding="utf-8")


def test_the_current_folder_becomes_no_run_folder_without_a_word() -> None:
    recipe = loads(
        "dataset_path: in.jsonl\nexport_path: out.parquet\nprocess: [whitespace_normalization_mapper]\n",
        library=FOUNDATION,
        environ={},
    )
    notes = [str(note) for note in recipe.ignored]
    assert any("the current folder is the run folder" in note and "Set work_dir" in note for note in notes)
    named = loads(
        "dataset_path: in.jsonl\nexport_path: o/out.parquet\nprocess: [whitespace_normalization_mapper]\n",
        library=FOUNDATION,
        environ={},
    )
    assert not named.ignored
