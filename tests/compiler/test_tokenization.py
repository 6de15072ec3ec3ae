"""Steps with `tokenization: true`: pieces of one model are computed once, by a kernel where it knows the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.compiler.explain import step_plans
from refinery.compiler.model import Schema
from refinery.compiler.program import build
from refinery.errors import RecipeError
from refinery.execution.open import open_recipe

UNIGRAM, CHARACTERS = 1, 4


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def piece(text: str, kind: int = 1) -> bytes:
    return field(1, field(1, text.encode()) + b"\x15\0\0\x80\xbf" + bytes([0x18, kind]))  # each with the score -1


@pytest.fixture
def model(tmp_path: Path) -> Any:
    """Writes a small model that cuts texts into known words and letters."""

    def written(kind: int = UNIGRAM, name: str = "tiny.model") -> str:
        words = "".join(map(chr, range(97, 123))), "\u2581", "\u2581to", "\u2581be", "\u2581or", "\u2581not"
        known = [*words[0], *words[1:]]
        path = tmp_path / name
        path.write_bytes(piece("<unk>", 2) + b"".join(map(piece, known)) + field(2, bytes([0x18, kind])))
        return str(path)

    return written


def steps(model: str) -> list[Any]:
    given = {"tokenization": True, "model": model}
    lists = str(Path(__file__).parent / "words")
    return [
        {"words_num_filter": given | {"min_num": 1}},
        {"word_repetition_filter": given | {"rep_len": 2}},
        {"flagged_words_filter": given | {"flagged_words_dir": lists}},
        {"remove_words_with_incorrect_substrings_mapper": given},
    ]


def compiled(process: list[Any], share: bool = True) -> Any:
    recipe, library = open_recipe({"process": process}, need_inputs=False)
    program, chain = build(recipe.steps, library, Schema(True), ("text",), share)
    return program, chain, step_plans(program, chain, library)


def test_pieces_are_computed_once(model: Any) -> None:
    program, chain, plans = compiled(steps(model()))
    assert sorted(chain.features.values()) == [[1, 2, 3, 4], [3], [3, 4]]
    assert program.pass_sql.count("sentence_pieces(") == 1 and "library_pieces" not in program.pass_sql
    assert [plan.runs for plan in plans] == ["kernel", "kernel", "kernel", "Python"]
    program, _, _ = compiled(steps(model()), share=False)
    assert program.pass_sql.count("sentence_pieces(") == 4


def test_two_models(model: Any) -> None:
    program, _, _ = compiled([*steps(model()), *steps(model(name="other.model"))][:7])
    assert program.pass_sql.count("sentence_pieces(") == 2


def test_a_model_for_the_library_is_explained(model: Any) -> None:
    pytest.importorskip("sentencepiece")
    program, _, plans = compiled(steps(model(CHARACTERS)))
    assert program.pass_sql.count("library_pieces(") == 1 and "sentence_pieces" not in program.pass_sql
    assert plans[0].runs == "Python" and "library_pieces" in plans[0].functions


def test_a_damaged_model_is_refused(model: Any) -> None:
    path = model()
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[:-3])
    with pytest.raises(RecipeError, match=r"cannot be loaded .*give a SentencePiece model"):
        compiled(steps(path))


@pytest.mark.parametrize("fused", [True, False])
def test_results(fused: bool, model: Any, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"text": "to be or not to be"}\n{"text": "x 12 to"}\n')
    run = refinery.run(
        {
            "dataset_path": str(tmp_path / "docs.jsonl"),
            "export_path": str(tmp_path / "out.jsonl"),
            "op_fusion": fused,
            "process": steps(model())[:2],
        }
    )
    # The mark of a word's beginning is a word where it is a piece by itself; the unknown 12 is no word.
    assert run.sql("SELECT num_words, word_rep_ratio FROM stats ORDER BY _row").fetchall() == [(6, 0.4), (4, 0.0)]
