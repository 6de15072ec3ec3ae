"""Kernels on words against ordinary Python, the loading of word lists, and words from a tokenizer."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.models.pieces import of_lists
from refinery.kernels.text.special_characters import code_points
from refinery.kernels.words import subwords, word_ratio, word_removal, word_repetition, wordlists, words
from tests.characters import by_planes, characters
from tests.examples import share_of

UDFS = Path(__file__).parents[3] / "udfs"
SPECIAL = "".join(map(chr, code_points()))

# White space that separates and that does not, final sigma, letters whose lower case is longer, shorter, special or no
# longer special, titlecase, combining and case-ignorable characters, joined emoji, letters that count as special.
NASTY = [
    *" \n\t\r\x00\x0b\x85\xa0\u2003\u2028\u3000.,-'1aAbZ_éÉßẞ",
    *"ΣσςΑ\u0301\u0345\u00adİıǅȺȾKÅГØΠⓂꞮⱥﬁᲀ𐐀一上中ッ",
    *("\u200d", "\ufe0f", "😀", "👩‍👩‍👧", "http", "www", ".com", "//", "of", "the", "of the", "zz zz"),
]
text = st.lists(st.sampled_from(NASTY), max_size=30).map("".join) | st.text(max_size=20)
texts = st.lists(st.none() | text, max_size=6)
few_words = st.lists(st.sampled_from(["a", "b", "ab", "σ"]), max_size=30).map(" ".join)
nasty = settings(max_examples=share_of(150))


def strings(values: Sequence[str | None], kind: pa.DataType | None = None) -> pa.Array:
    return pa.array(values, kind or pa.string())


def refined(text: str, lower: bool) -> list[str]:
    split = re.split("[ \n\t]", text)
    return [word for word in ((w.lower() if lower else w).strip(SPECIAL) for w in split) if word]


def apply(function, values: Sequence[str | None]) -> list:
    return [None if value is None else function(value) for value in values]


@nasty
@given(texts)
def test_words_are_those_of_python(values):
    want = apply(lambda t: {"n": len(refined(t, False)), "lower": " ".join(refined(t, True))}, values)
    assert words.words(strings(values)).to_pylist() == want
    assert words.word_count(strings(values)).to_pylist() == apply(lambda t: len(refined(t, False)), values)


def long_texts(count: int) -> list[str | None]:
    """Texts of several blocks of bytes, most of them plain, in which words begin and end at any place."""
    chance = random.Random(1)
    plain = [*"aB.,1_- \n\t\0\x1f\x7f", "words ", "UPPER ", "(see", "it's", " " * 40, "x" * 33, "-" * 65, "end.\n"]
    pieces = [plain, plain, plain + NASTY, [*plain, "é", "É"]]
    return [None, *("".join(chance.choices(chance.choice(pieces), k=chance.randrange(90))) for _ in range(count))]


def test_words_of_long_texts():
    values = long_texts(800)
    want = apply(lambda t: {"n": len(refined(t, False)), "lower": " ".join(refined(t, True))}, values)
    assert words.words(strings(values)).to_pylist() == want
    assert words.word_count(strings(values)).to_pylist() == apply(lambda t: len(refined(t, False)), values)
    for n in (1, 2, 5):
        ratios = apply(lambda t, n=n: repetition(refined(t, True), n), values)
        assert word_repetition.word_repetition(strings(values), n).to_pylist() == ratios


def test_every_ascii_character_in_plain_blocks():
    values = [f"{'ab ' * k}{chr(c)}x{chr(c)} {chr(c)}{'c-' * 70}" for c in range(128) for k in (0, 10, 21)]
    want = [{"n": len(refined(t, False)), "lower": " ".join(refined(t, True))} for t in values]
    assert words.words(strings(values)).to_pylist() == want
    assert words.word_count(strings(values)).to_pylist() == [len(refined(t, False)) for t in values]


@by_planes
def test_every_code_point_is_lowered_and_stripped_as_python_does(planes):
    chars = characters(planes)
    groups = ["x ".join(chars[i : i + 64]) + "xA" for i in range(0, len(chars), 64)]
    got = words.words(strings(groups)).to_pylist()
    for group, found in zip(groups, got, strict=True):
        assert (found["n"], found["lower"]) == (len(refined(group, False)), " ".join(refined(group, True)))


@by_planes
def test_lowering_by_the_table_leaves_lowered_texts_alone(planes):
    lowered = {c for char in characters(planes) for c in char.lower()} | {"ς"}
    code_points = words.tables().code_points
    assert all(code_points[ord(c)] >> 2 == ord(c) for c in lowered)


def test_upper_and_lower_case_may_differ_in_number():
    assert words.words(strings(["Ø a", "Π", "Г", "ΟΔΟΣ."])).to_pylist() == [
        {"n": 2, "lower": "a"},
        {"n": 1, "lower": ""},
        {"n": 0, "lower": "г"},
        {"n": 1, "lower": "οδος"},
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_slices_chunks_and_both_offset_widths_give_the_same(kind):
    values = ["x", "Ab cd, 12", None, "İ Σ", "ΑΣ of", "", "  the  end "]
    whole = words.words(strings(values))
    column = strings(["before", *values, "after"], kind)[1:-1]
    chunked = pa.chunked_array([column[:3], column[3:]])
    for given_column in (column, chunked):
        assert words.words(given_column).to_pylist() == whole.to_pylist()
        assert words.word_count(given_column).to_pylist() == words.word_count(strings(values)).to_pylist()
        assert word_removal.remove_long_words(given_column, 2, 3).to_pylist() == (
            word_removal.remove_long_words(strings(values), 2, 3).to_pylist()
        )


def test_empty_and_null_columns():
    for function in (
        words.words,
        words.word_count,
        lambda c: word_repetition.word_repetition(c, 2),
        lambda c: word_removal.remove_long_words(c, 1, 5),
        lambda c: word_removal.remove_words_with(c, ["a"]),
    ):
        assert function(strings([])).to_pylist() == []
        assert function(strings([None, None])).to_pylist() == [None, None]


def test_two_threads_at_once():
    columns = [strings([f"{word} THE {n} Σ" * 50 for n in range(300)]) for word in ("Ab", "éÉ")]
    want = [words.words(column) for column in columns]
    got: dict[int, list[bool]] = {0: [], 1: []}

    def work(i: int) -> None:
        for _ in range(5):
            got[i].append(words.words(columns[i]).equals(want[i]))

    threads = [threading.Thread(target=work, args=(i,)) for i in got]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {0: [True] * 5, 1: [True] * 5}


# Repetition


def repetition(words_: list[str], n: int) -> float:
    counts = Counter(tuple(words_[i : i + n]) for i in range(len(words_) - n + 1)).values()
    return sum(count for count in counts if count > 1) / sum(counts) if counts else 0.0


def test_room_for_the_longest_text_is_room_for_all():
    """Tables of many n-grams are fuller than those of few."""
    dice, letters = random.Random(7), "abcdefghij"
    texts = [
        [dice.choice(letters) + dice.choice(letters) for _ in range(count)] for count in (70_000, 65_000, 65_540, 9)
    ]
    found = word_repetition.word_repetition(strings([" ".join(one) for one in texts]), 3)
    assert found.to_pylist() == [repetition(one, 3) for one in texts]
    rooms = [word_repetition.slots_for(count) for count in range(1, 200_000, 999)]
    assert rooms == sorted(rooms)


@nasty
@given(st.lists(st.none() | few_words | text, max_size=5), st.integers(1, 6))
def test_word_repetition_is_that_of_python(values, n):
    want = apply(lambda t: repetition(refined(t, True), n), values)
    assert word_repetition.word_repetition(strings(values), n).to_pylist() == want


@pytest.mark.parametrize("n", [1, 2, 10, 50, 4000])
def test_word_repetition_of_long_texts(n):
    values = ["a b c d " * 1000 + "e", "x " * 3999 + "x", " ".join(map(str, range(5000))), "", "a"]
    column = strings([value.strip() for value in values])
    want = [repetition(refined(value, True), n) for value in values]
    assert word_repetition.word_repetition(column, n).to_pylist() == want


def test_word_repetition_tells_the_order_and_the_borders_of_words():
    assert word_repetition.word_repetition(strings(["a b b a", "ab c a bc", "a b a b"]), 2).to_pylist() == [
        0.0,
        0.0,
        2 / 3,
    ]


def test_equal_hashes_do_not_make_equal_n_grams():
    # Polynomial hashes modulo 2^64 collide on Thue-Morse sequences, whatever the odd base.
    bits = [bin(i).count("1") % 2 for i in range(2048)]
    one, other = (" ".join("ab"[bit ^ flip] for bit in bits) for flip in (0, 1))
    column = strings([f"{one} x {other}", f"{one} x {one}"])
    want = [repetition(value.split(), 2048) for value in column.to_pylist()]
    assert word_repetition.word_repetition(column, 2048).to_pylist() == want
    assert want[0] == 0.0 < want[1]


def test_an_n_gram_needs_a_word():
    with pytest.raises(ValueError, match="at least one word"):
        word_repetition.word_repetition(strings(["a"]), 0)


# Word lists


def put(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@nasty
@given(
    texts,
    st.frozensets(
        st.sampled_from(["of", "the", "of the", "a", "é", "σ", "", "a-b", "\ud800", "ofthe"]) | st.text(max_size=3)
    ),
    st.lists(st.integers(1, 4), max_size=3),
    st.sampled_from(["", " ", "--", "é"]),
)
def test_listed_ratio_is_that_of_python(listed_in, values, entries, sizes, join):
    put(listed_in, "stopwords.json", {"en": sorted(entries)})
    lowered = apply(lambda t: " ".join(refined(t, True)), values)

    def ratio(text: str) -> float:
        found = text.split(" ") if text else []
        every = [*found, *(join.join(found[i : i + n]) for n in sizes for i in range(len(found) - n + 1))]
        return sum(word in entries for word in every) / len(every) if every else 0.0

    got = word_ratio.listed_ratio(strings(lowered), str(listed_in), "stopwords", "en", tuple(sizes), join)
    assert got.to_pylist() == apply(ratio, lowered)


@pytest.fixture(scope="module")
def listed_in(tmp_path_factory):
    """A folder that the examples of one test overwrite in turn."""
    return tmp_path_factory.mktemp("lists")


def test_lists_of_one_kind_are_put_together(tmp_path):
    put(tmp_path, "stopwords.json", {"en": ["the"], "es": ["el"]})
    put(tmp_path, "more_stopwords.v2.json", {"en": ["of"], "de": []})
    put(tmp_path, "stopwords.txt", "not a list")
    put(tmp_path, "flagged_words.json", {"en": ["darn"]})
    assert wordlists.load(str(tmp_path), "stopwords") == {
        "en": {"the", "of"},
        "es": {"el"},
        "de": set(),
        "all": {"the", "of", "el"},
    }
    put(tmp_path, "stopwords_all.json", {"all": ["only"]})
    assert wordlists.load(str(tmp_path), "stopwords")["all"] == {"only"}


def test_a_changed_list_is_read_again(tmp_path):
    path = put(tmp_path, "stopwords.json", {"en": ["one"]})
    column = strings(["one two two"])
    before = word_ratio.listed_ratio(column, str(tmp_path), "stopwords", "en", (), "")
    put(tmp_path, "stopwords.json", {"en": ["two"]})
    os.utime(path, ns=(1, 1))
    after = word_ratio.listed_ratio(column, str(tmp_path), "stopwords", "en", (), "")
    assert (before.to_pylist(), after.to_pylist()) == ([1 / 3], [2 / 3])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not JSON"),
        ("\ufeff{}", "not JSON"),
        ("[]", "not an object"),
        ({"en": "the"}, "'en' is not a list of strings"),
        ({"en": ["the", 1]}, "'en' is not a list of strings"),
        ("{}", "no file *stopwords*.json with a list"),
        ({"es": ["el"]}, "no stopwords for lang 'en', only for all, es"),
    ],
)
def test_check_says_what_is_wrong_with_a_list(tmp_path, content, says):
    put(tmp_path, "stopwords.json", content)
    (problem,) = wordlists.check(str(tmp_path), "stopwords", "en")
    assert says in problem and str(tmp_path) in problem


def test_check_says_which_folder_is_expected(tmp_path):
    (missing,) = wordlists.check(None, "flagged_words", "en")
    assert (
        "flagged_words_dir is not given" in missing
        and "flagged_words.json" in missing
        and "downloads nothing" in missing
    )
    (absent,) = wordlists.check(str(tmp_path / "absent"), "flagged_words", "en")
    assert "No such file" in absent and "flagged_words.json" in absent
    (tmp_path / "stopwords.json").mkdir()
    (directory,) = wordlists.check(str(tmp_path), "stopwords", "en")
    assert "stopwords.json" in directory
    put(tmp_path, "flagged_words.json", {"en": []})
    assert wordlists.check(str(tmp_path), "flagged_words", "en") == []


def test_checks_run_without_numba(tmp_path):
    put(tmp_path, "stopwords.json", {"en": ["the"]})
    script = f"""
import sys
sys.modules["numba"] = None
from pathlib import Path
from refinery.operators import read_operator
for name in ("words_num_filter", "word_repetition_filter", "stopwords_filter", "flagged_words_filter"):
    operator = read_operator(Path({str(UDFS)!r}) / "filters" / (name + ".py"))
    print(operator.check({{"stopwords_dir": {str(tmp_path)!r}, "tokenization": False, "lang": "en"}}))
"""
    root = str(UDFS.parent)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=root, check=True)
    lines = run.stdout.splitlines()
    assert lines[:3] == ["[]"] * 3 and "flagged_words_dir is not given" in lines[3]


# Removing words


def without(text: str, stays) -> str:
    lines = ([[w for w in cell.split(" ") if w and stays(w)] for cell in line.split("\t")] for line in text.split("\n"))
    joined = ("\t".join(" ".join(cell) for cell in line if cell) for line in lines)
    return "\n".join(line for line in joined if line)


def changed(values: list[str | None], stays) -> list[str | None]:
    results = apply(lambda t: without(t, stays), values)
    return [None if result == value else result for result, value in zip(results, values, strict=True)]


@nasty
@given(texts, st.integers(-1, 4), st.integers(-1, 8) | st.just(2**63 - 1))
def test_remove_long_words_is_that_of_python(values, low, high):
    def stays(word: str) -> bool:
        return low <= len(word) <= high or (len(word) > high and low <= len(word.strip(SPECIAL)) <= high)

    assert word_removal.remove_long_words(strings(values), low, high).to_pylist() == changed(values, stays)


@nasty
@given(
    texts,
    st.lists(
        st.sampled_from(["http", "//", ".com", "", "一", "a b", "\n", "\ud800"]) | st.text(max_size=2), max_size=4
    ),
)
def test_remove_words_with_is_that_of_python(values, substrings):
    def stays(word: str) -> bool:
        return not any(s in word.strip(SPECIAL) for s in substrings)

    assert word_removal.remove_words_with(strings(values), substrings).to_pylist() == changed(values, stays)


# Words from a tokenizer


def operator_module(kind: str, name: str):
    from refinery.operators import load_module

    return load_module(UDFS / kind / f"{name}.py")


def test_pieces_that_stay_are_joined_without_the_spaces():
    """The tokenizer cuts a text into pieces of two characters, spaces as U+2581."""

    module = operator_module("mappers", "remove_words_with_incorrect_substrings_mapper")
    column = strings(["a wwb c", "a b c", None, "", "12//w"])
    cut = [
        None if text is None else [text.replace(" ", "\u2581")[i : i + 2] for i in range(0, len(text), 2)]
        for text in column.to_pylist()
    ]
    pieces = of_lists(cut)
    got = module.remove_pieces_with(column, pieces.field("joined"), pieces.field("ends"), '["ww", "//"]')
    assert got.to_pylist() == ["ab c".replace(" ", ""), None, None, None, None]


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"model": None, "lang": "zh"}, "set model to a local copy"),
        ({"model": "absent.model"}, "give a SentencePiece model"),
        ({"model": "absent.json"}, "tokenizers"),
    ],
)
def test_check_says_what_tokenization_lacks(params, says):
    (problem,) = subwords.check({"tokenization": True, **params})
    assert says in problem
    assert subwords.check({"tokenization": False, **params}) == []


def test_check_names_the_package_to_install(monkeypatch, tmp_path):
    """Kernels know no model whose pieces are words, so the library is needed."""
    monkeypatch.setattr(subwords.importlib.util, "find_spec", lambda name: None)
    model = tmp_path / "word.model"
    model.write_bytes(b"\x0a\x03\x0a\x01a" + b"\x12\x02\x18\x03")
    (problem,) = subwords.check({"tokenization": True, "model": str(model)})
    assert "pip install 'sentencepiece>=0.2'" in problem


def test_a_sentencepiece_model(tmp_path):
    spm = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed: pip install '.[sentencepiece]'")
    lines = [f"the cat number {word} sat on the mat of the house" for word in ("one", "two", "three", "four") * 20]
    prefix = str(tmp_path / "tiny")
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=prefix, vocab_size=40, hard_vocab_limit=False, minloglevel=2
    )
    model = prefix + ".model"
    assert subwords.check({"tokenization": True, "model": model}) == []
    pieces = subwords.pieces(model)("the cat\n1 ... sat")
    assert "".join(pieces).replace("\u2581", " ").split() == ["the", "cat", "1", "...", "sat"]


def test_a_tokenizer_json(tmp_path):
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed: pip install '.[tokenizers]'")
    vocabulary = {"[UNK]": 0, "the": 1, "cat": 2, ".": 3}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(2)
    path = str(tmp_path / "tokenizer.json")
    tokenizer.save(path)
    assert subwords.pieces(path)("the cat sat .") == ["the", "cat", "[UNK]", "."]
    broken = put(tmp_path, "broken.json", "[]")
    assert "cannot be loaded" in subwords.check({"tokenization": True, "model": str(broken)})[0]
