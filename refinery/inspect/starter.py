"""A first recipe for the data of a user: fields found in samples, the field of text, common steps with comments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from refinery.errors import DataError
from refinery.inspect.analyze.request import stem
from refinery.inspect.starter_samples import NEARLY_ALL, FieldTexts, texts_by_field
from refinery.io.first_samples import FileFields, closer_look
from refinery.io.sources import cut, find

_TEXT = """\
# A recipe for {data}, written by `refinery init`. Keys: docs/recipes.md; operators: `refinery ops`.
#   refinery check {file}          shows its problems, reads nothing but samples
#   refinery run {file} --show     runs it, with examples of what each step did
#
# Fields of {samples} samples, with the characters of an average text:
{fields}
dataset_path: {path}
export_path: {export}
{key}{kept}

process:
  # Mappers change texts.
  - fix_unicode_mapper:                 # text that was decoded wrongly
  - whitespace_normalization_mapper:    # all kinds of white space become plain spaces

  # Filters remove samples outside of their bounds. `refinery analyze {name}` shows what bounds would remove.
{shortest}
  - alphanumeric_filter:
      min_ratio: {alphanumeric} # characters that are letters or digits
  - character_repetition_filter:
      rep_len: 10
      max_ratio: 0.5                    # characters in repeated passages

  # Deduplicators keep the first of equal samples; document_minhash_deduplicator also finds those that are nearly equal{windows}.
  - document_deduplicator:
"""


# Fields by which people ask about samples.
_ASKED_FOR = ("id", "url")

_WORDS = """\
  - words_num_filter:
      min_num: 5                        # shorter texts go"""
# A text without spaces is one word, so that a bound on words would remove it.
_CHARACTERS = """\
  - text_length_filter:                 # not words_num_filter: {share:.0%} of the texts have no spaces between words
      min_len: 10                       # shorter texts go, in characters"""
# Share of texts without spaces from which words are not counted, and the usual bound on letters and digits.
_UNSPACED, _ALPHANUMERIC = 0.01, 0.6


def starter_recipe(data: str, file: str) -> str:
    """The text of a recipe for a file, folder, pattern or URL. file: name that the recipe will have.

    Raises DataError if the data cannot be read, have no sample, or have no field of text.
    """
    shards = cut(find([data])[0])
    looks = closer_look(shards).glimpses
    if not looks:
        raise DataError(f"{data}: no sample can be read, so there is no field to refine")
    names = sorted({name for look in looks for name in look.names})
    texts = texts_by_field(shards, names)
    if not any(field.texts for field in texts.values()):
        raise DataError(f"{data}: no field holds text. Its fields are {', '.join(names)}")
    key = max(texts, key=lambda name: texts[name].rank)
    chosen = texts[key]
    return _TEXT.format(
        data=_quoted(data),
        file=_quoted(file)[1:-1],
        samples=f"{chosen.samples:,}",
        fields="\n".join(_described(names, looks, texts)),
        path=_quoted(data),
        export=_quoted(f"outputs/{stem(data)}/{stem(data)}.jsonl"),
        key=_key(key, chosen),
        kept=_kept({name for look in looks for name in look.top} - {key}),
        name=_quoted(data),
        **_steps(chosen),
    )


def _steps(texts: FieldTexts) -> dict[str, str]:
    """The parts of steps that follow from the texts."""
    unspaced = texts.unspaced()
    lowest = min(_ALPHANUMERIC, int(texts.alphanumeric() * 0.75 * 20) / 20)  # scripts with marks have fewer letters
    spaces = unspaced < _UNSPACED
    return {
        "shortest": _WORDS if spaces else _CHARACTERS.format(share=unspaced),
        "alphanumeric": f"{lowest:<19}",
        "windows": "" if spaces else ",\n  # with tokenization: character for texts without spaces",
    }


def _kept(names: AbstractSet[str]) -> str:
    """The line with the fields that the tables of the run have, too; empty without such fields."""
    kept = ", ".join(name for name in _ASKED_FOR if name in names)
    return f"\nkeep_fields: [{kept}]  # fields that the tables have, too: docs/questions.md" if kept else ""


def _key(name: str, texts: FieldTexts) -> str:
    """The line of `text_keys`, with the reason for the choice."""
    if texts.share >= NEARLY_ALL:
        return f"text_keys: {_quoted(name)}  # the field that steps refine: the one with the longest texts"
    return (
        f"# No field is text in nearly all samples; this one is in {texts.share:.0%}. Samples without it go to quarantine.\n"
        f"text_keys: {_quoted(name)}"
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _described(names: Sequence[str], looks: Sequence[FileFields], texts: Mapping[str, FieldTexts]) -> list[str]:
    """A comment for each field, those of text first."""
    order = sorted(names, key=lambda name: (not texts[name].texts, -texts[name].length, name))
    return [f"#   {_quoted(name)}: {_kind(name, looks, texts[name])}" for name in order]


def _kind(name: str, looks: Sequence[FileFields], texts: FieldTexts) -> str:
    if not texts.texts:
        kinds = dict.fromkeys(look.others[name] for look in looks if name in look.others)
        return " or ".join(kinds or sorted(texts.kinds)) or "null"
    partly = "" if len(texts.texts) == texts.samples else f" in {len(texts.texts):,} of {texts.samples:,} samples"
    return f"text{partly}, {texts.length:,.0f}"
