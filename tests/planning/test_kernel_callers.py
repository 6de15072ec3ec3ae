"""Kernels that a recipe's steps call with their parameters."""

from pathlib import Path

import pytest

from refinery.execution.open import open_recipe
from refinery.kernels.core.kernel_calls import called_kernels
from refinery.planning.kernel_callers import kernel_callers

# A SentencePiece model of the pieces <unk> and a, each with the score -1.
_MODEL = b"\n\x0e\n\x05<unk>\x15\0\0\x80\xbf\x18\x02\n\x0a\n\x01a\x15\0\0\x80\xbf\x18\x01\x12\x02\x18\x01"
_PIECES = {"models.piece_numbers._spell", "models.piece_classes.count_rows"}
_WORDS = {"words.words._count", "words.word_repetition._repetition"}


@pytest.mark.parametrize(
    ("steps", "called", "others"),
    [
        ("- words_num_filter:\n- word_repetition_filter:", _WORDS, _PIECES),
        (
            "- words_num_filter: {tokenization: true, model: a.model}",
            _PIECES | {"models.sentencepiece._encode"},
            {"words.word_repetition._repetition"},
        ),
        ("- alphanumeric_filter:", {"text.profile.count_rows"}, _WORDS | _PIECES),
        (
            "- sql_filter: {where: 'word_repetition(text, 3) > 0'}\n- word_repetition_filter:",
            {"words.word_repetition._repetition"},
            _PIECES,
        ),
        ("- document_minhash_deduplicator:", {"dedup.minhash_exact._minima"}, _WORDS),
    ],
)
def test_kernels_of_the_parameters(tmp_path: Path, steps: str, called: set[str], others: set[str]) -> None:
    (tmp_path / "a.model").write_bytes(_MODEL)
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    recipe = tmp_path / "recipe.yaml"
    steps = steps.replace("\n", "\n  ").replace("a.model", str(tmp_path / "a.model"))
    recipe.write_text(f"dataset_path: {tmp_path}/in.jsonl\nexport_path: {tmp_path}/out.jsonl\nprocess:\n  {steps}\n")
    found = called_kernels(kernel_callers(*open_recipe(recipe)))
    assert called <= found and not others & found
