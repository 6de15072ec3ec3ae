"""Each kernel's Python form computes what its machine code does, in calls that tests of the kernels make."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from refinery.kernels.build.modules import entries, modules
from tests.conftest import ROOT

KERNELS = [entry.name for module in modules() for entry in entries(module)]
# Tests that together call every kernel, with little data.
CALLERS = """
    tests/dedup/test_large_groups.py::test_operators_find_the_clusters_of_a_union_find
    tests/dedup/test_ngrams.py::test_all_kernels_of_a_filter_in_parts
    tests/dedup/test_semantic.py::test_cosines_of_a_kernel_have_the_bits_of_the_formula
    tests/dedup/test_short_texts.py::test_a_run_counts_short_texts_also_where_it_keeps_them
    tests/io/readers/test_read.py::test_a_frame_of_views_becomes_texts
    tests/io/readers/test_read.py::test_a_text_file_is_a_sample
    tests/io/readers/test_read.py::test_the_last_line_may_end_where_the_buffer_does
    tests/io/writers/test_field_choice.py::test_repeated_members_are_all_left_out_and_the_last_is_chosen
    tests/io/writers/test_field_choice.py::test_values_are_copied_byte_by_byte
    tests/io/test_field_scan.py::test_objects_with_too_many_names_are_json
    tests/io/test_folders.py::test_the_value_of_the_file_goes_before_that_of_the_folder
    tests/kernels/contamination/test_folded_words.py::test_n_grams_end_with_their_text
    tests/kernels/contamination/test_item_search.py::test_other_numbers_are_another_problem
    tests/kernels/contamination/test_joined_grams.py
    tests/kernels/contamination/test_numbering.py
    tests/kernels/core/test_decimals.py::test_edges
    tests/kernels/dedup/test_hamming.py::test_clusters_among_random_values
    tests/kernels/dedup/test_line_units.py::test_examples
    tests/kernels/dedup/test_line_units.py::test_recorded_results
    tests/kernels/dedup/test_minhash.py::test_estimate_of_signatures
    tests/kernels/dedup/test_minhash.py::test_examples
    tests/kernels/dedup/test_minhash.py::test_permutations_of_hashes_that_hurt
    tests/kernels/dedup/test_minhash.py::test_sha1_is_that_of_hashlib
    tests/kernels/dedup/test_minhash.py::test_shared_shingles_come_in_the_order_of_the_left_text
    tests/kernels/dedup/test_minhash.py::test_short_texts_and_texts_without_tokens
    tests/kernels/dedup/test_minhash_normalize.py::test_exact_similarity_is_nearly_datatroves
    tests/kernels/dedup/test_paragraph_units.py::test_examples
    tests/kernels/dedup/test_sentence_units.py::test_examples
    tests/kernels/dedup/test_shingles.py::test_tokens_of_every_length_differ
    tests/kernels/dedup/test_shingles.py::test_tokens_are_those_of_python
    tests/kernels/dedup/test_shingles.py::test_shingle_sets_have_a_hash_for_each_distinct_shingle
    tests/kernels/dedup/test_simhash.py::test_examples
    tests/kernels/dedup/test_substring_cuts.py::test_some_texts
    tests/kernels/dedup/test_substrings.py::test_few_texts
    tests/kernels/dedup/test_text_keys.py::test_examples
    tests/kernels/dedup/test_unionfind.py
    tests/kernels/dedup/test_word_ngrams.py::test_ngrams_of_normalized_words
    tests/kernels/json/test_json_kernels.py
    tests/kernels/models/test_bpe.py::test_words_that_merges_do_not_reach
    tests/kernels/models/test_fasttext.py::test_scores_as_a_column
    tests/kernels/models/test_kenlm.py::test_words_that_the_model_lacks
    tests/kernels/models/test_piece_numbers.py::test_equal_words_of_different_numbers
    tests/kernels/models/test_piece_numbers.py::test_equal_to_texts[plain-0]
    tests/kernels/models/test_piece_numbers.py::test_equal_to_texts[bpe-across-2]
    tests/kernels/models/test_piece_numbers.py::test_words_in_python
    tests/kernels/models/test_sentencepiece.py::test_tokens_of_minhash
    tests/kernels/text/test_links.py::test_every_number_of_an_address
    tests/kernels/text/test_profile.py::test_repetition_counted_in_parts[1-5000]
    tests/kernels/text/test_statistics.py::test_equal_hashes_are_no_equal_texts
    tests/kernels/text/test_statistics.py::test_long_texts_make_tables_grow[3]
    tests/kernels/unicode/test_unicode_fixes.py::test_examples
    tests/kernels/unicode/test_word_segments.py::test_long_texts
    tests/kernels/words/test_words.py::test_empty_and_null_columns
    tests/kernels/words/test_words.py::test_listed_ratio_is_that_of_python
    tests/operators/test_examples.py
    tests/stats/test_entries.py::test_long_numbers
    tests/stats/test_groups.py::test_mistakes_are_told_before_the_run
    tests/stats/test_step.py::test_top_k_config_is_both_of_its_parameters
""".split()


@pytest.fixture(scope="module")
def differences(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """How the two forms of each kernel differ in the calls of these tests; empty where they do not."""
    result = tmp_path_factory.mktemp("shadow") / "result.json"
    plugins = ["-p", "tests.kernels.shadow", "-p", "no:cacheprovider", "-p", "no:xdist"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, *CALLERS],
        cwd=ROOT,
        env={**environment, "REFINERY_SHADOW": str(result)},
        check=True,
        capture_output=True,
    )
    found: dict[str, str] = json.loads(Path(result).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_python_form(name: str, differences: dict[str, str]) -> None:
    assert name in differences, "no test of CALLERS calls it"
    assert not differences[name]


def test_a_command_runs_without_machine_code(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "Mail  me@example.org\\u00a0now"}\n{"text": "x"}\n', encoding="utf-8")
    steps = "[{clean_email_mapper: {}}, {whitespace_normalization_mapper: {}}, {alphanumeric_filter: {}}]"
    recipe = f"dataset_path: in.jsonl\nexport_path: out.jsonl\nprocess: {steps}\n"
    (tmp_path / "recipe.yaml").write_text(recipe, encoding="utf-8")
    exports = []
    for kernels in ("", "python"):
        command = [sys.executable, "-m", "refinery", "run", "recipe.yaml", "--quiet", "--fresh"]
        subprocess.run(command, cwd=tmp_path, env={**os.environ, "REFINERY_KERNELS": kernels}, check=True)
        exports.append((tmp_path / "out.jsonl").read_bytes())
    assert exports[0] == exports[1] and exports[0]
