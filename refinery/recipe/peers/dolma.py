"""dolma: mixers (`streams` with filters over taggers' attributes), lists of taggers, and deduplications."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from refinery.recipe.peers.model import FindFile, Item, Source, Translation

PEER = "dolma"
_ATTRIBUTE = r"@\.(\w+)"
_EXISTS = re.compile(rf"{_ATTRIBUTE}(\[0\])?")
_COMPARED = re.compile(rf"{_ATTRIBUTE}\[0\]\[2\]\s*(>=|<=|>|<|==|!=)\s*(-?[\d.]+(?:[eE][+-]?\d+)?)")
_FILTER = re.compile(r"^\$@?\.attributes\[\?\((.*)\)\]$", re.DOTALL)
_SPAN = re.compile(r"^\$\.attributes\.(\w+)$")
# Attributes of `dolma dedupe`, and the deduplicators that find the same copies.
_DEDUPE = {
    "bff_duplicate_docs": ("document_deduplicator", "equal documents, which dolma finds by a Bloom filter"),
    "bff_duplicate_paragraph_spans": (
        "paragraph_deduplicator",
        "equal paragraphs, which dolma finds by a Bloom filter",
    ),
}
# Types of spans within a document, of which the statistic is the number.
_SPANS = {
    "lines_with_no_ending_punctuation",
    "lines_with_too_few_words",
    "repetition",
    "paragraph",
    "negative_paragraph",
}
_SINGULAR = re.compile(r"fraction_of_characters_in_most_common_\dgram")


def is_dolma(content: Any) -> bool:
    """Return whether a file's content is a configuration of dolma."""
    if not isinstance(content, dict):
        return False
    streams = content.get("streams")
    if isinstance(streams, list) and streams:
        return all(isinstance(stream, dict) and "documents" in stream for stream in streams)
    own = ("taggers", "dedupe", "tokenizer_name_or_path")
    return "documents" in content and any(key in content for key in own)


def translate(source: Source, find: FindFile) -> Translation:
    """Translate a configuration of dolma."""
    result, content = Translation(PEER), source.content
    if "streams" in content:
        _mixer(content["streams"], source, result)
    elif "taggers" in content:
        result.keys["dataset_path"] = list(content["documents"])
        result.notes.append(
            "dolma writes attributes beside the documents; here they are statistics, in the tables of the run."
        )
        for at, tagger in enumerate(content["taggers"]):
            result.items.append(_tagger(str(tagger), source.line("taggers", at)))
    elif "dedupe" in content:
        result.keys["dataset_path"] = list(content["documents"])
        result.items.append(_dedupe(content["dedupe"], source.line("dedupe")))
    else:
        line = source.line("tokenizer_name_or_path")
        result.items.append(Item("tokens", line, missing="refinery writes texts, not the tokens of a tokenizer"))
    return result


def _mixer(streams: Sequence[Mapping[str, Any]], source: Source, result: Translation) -> None:
    if len(streams) > 1:
        names = ", ".join(str(stream.get("name")) for stream in streams)
        result.items.append(
            Item("streams", 1, missing=f"a recipe has one pipeline; make a file of each stream ({names})")
        )
        return
    [stream] = streams
    output = stream.get("output", {})
    result.keys["dataset_path"] = list(stream["documents"])
    if isinstance(output.get("path"), str):
        result.keys["export_path"] = output["path"].rstrip("/") + "/documents.jsonl.gz"
    reader = _Stream(source, result)
    filters = stream.get("filter") or {}
    if len(filters.get("include") or []) > 1:
        missing = "of several expressions one is enough in dolma; join them in one sql_filter"
        result.items.append(Item("filter.include", source.line("streams", 0, "filter", "include"), missing=missing))
        filters = {**filters, "include": []}
    for kind in ("exclude", "include"):
        for at, expression in enumerate(filters.get(kind) or []):
            reader.condition(str(expression), source.line("streams", 0, "filter", kind, at), kind == "include")
    reader.replacements(stream.get("span_replacement") or [], source.line("streams", 0, "span_replacement"))
    least = int(output.get("min_text_length", 0) or 0)
    if least:
        step = {"sql_filter": {"where": f"strlen(trim(text, E' \\t\\n\\r')) >= {least}"}}
        result.items.append(Item("min_text_length", source.line("streams", 0, "output"), [step]))


class _Stream:
    def __init__(self, source: Source, result: Translation) -> None:
        self.source, self.result = source, result
        self.taggers: set[str] = set()

    def condition(self, expression: str, line: int, include: bool) -> None:
        """An expression that removes the samples that it selects; with `include`, all others."""
        name = f"filter.{'include' if include else 'exclude'}"
        inner = _FILTER.match(" ".join(expression.split()))
        compared = list(_COMPARED.finditer(inner[1])) if inner else []
        rest = _EXISTS.sub("", _COMPARED.sub("", inner[1])) if inner else "?"
        named = {match[1] for match in _EXISTS.finditer(_COMPARED.sub("", inner[1]))} if inner else set()
        other = named - {match[1] for match in compared}
        if not compared or other or rest.replace("&&", "").strip() or (len(compared) > 1 and "||" in rest):
            self.result.items.append(Item(name, line, missing=f"no SQL for the expression {expression!r:.120}"))
            return
        terms, notes = [], []
        for match in compared:
            attribute, sign, number = match.groups()
            if attribute in _DEDUPE or attribute.partition("__")[0] in _DEDUPE:
                self._duplicates(attribute, line)
                return
            _, tagger, type_ = _parts(attribute)
            if reason := self._tag(tagger, line):
                self.result.items.append(Item(name, line, missing=reason))
                return
            if type_.isupper() or type_ in _SPANS:
                missing = f"{type_} marks spans, whose scores are no statistic; {tagger} counts them"
                self.result.items.append(Item(name, line, missing=missing))
                return
            if type_ == "has_naughty_word":
                missing = (
                    f"the list of words is not ours: give {tagger} naughty_words: FILE, then bound has_naughty_word"
                )
                self.result.items.append(Item(name, line, missing=missing))
                return
            if _SINGULAR.fullmatch(type_):
                notes.append(f"{tagger} never writes {type_} (its name is {type_}s), so dolma removes nothing here.")
                terms.append("false")
                continue
            terms.append(f"{_ident(type_)} {'=' if sign == '==' else sign} {number}")
        where = " AND ".join(terms)
        where = f"coalesce({where}, false)" if include else f"NOT coalesce({where}, false)"
        steps = [{"sql_filter": {"where": where}}] if terms != ["false"] else []
        self.result.items.append(Item(name, line, steps, notes=notes))

    def _tag(self, tagger: str, line: int) -> str:
        """Add the step of a tagger once; return the reason why there is none."""
        if tagger in self.taggers:
            return ""
        item = _tagger(tagger, line)
        if item.missing:
            return item.missing
        self.taggers.add(tagger)
        self.result.items.append(item)
        return ""

    def _duplicates(self, attribute: str, line: int) -> None:
        operator, meaning = _DEDUPE[attribute if attribute in _DEDUPE else attribute.partition("__")[0]]
        self.result.items.append(Item(attribute, line, [{operator: None}], notes=[f"The step removes {meaning}."]))

    def replacements(self, spans: Iterable[Mapping[str, Any]], line: int) -> None:
        """One mapper for all spans: dolma replaces spans of the same text at once."""
        chosen, missing = [], []
        for one in spans:
            match = _SPAN.match(str(one.get("span", "")))
            attribute = match[1] if match else str(one.get("span"))
            if attribute in _DEDUPE:
                self._duplicates(attribute, line)
                continue
            _, tagger, type_ = _parts(attribute)
            if reason := _no_tagger(tagger):
                missing.append(Item(attribute, line, missing=reason))
                continue
            bounds = {key: one[key] for key in ("min_score", "max_score") if one.get(key) is not None}
            chosen.append({"tagger": tagger, "type": type_, **bounds, "replacement": one.get("replacement", "")})
        self.result.items += missing
        if chosen:
            self.result.items.append(Item("span_replacement", line, [{"span_replacement_mapper": {"spans": chosen}}]))


def _parts(attribute: str) -> tuple[str, str, str]:
    """Experiment, tagger and type of an attribute `experiment__tagger__type`."""
    experiment, _, rest = attribute.partition("__")
    tagger, _, type_ = rest.partition("__")
    return experiment, tagger or experiment, type_


def _no_tagger(tagger: str) -> str:
    """The reason why a tagger has no operator; empty if it has one, as far as its name tells."""
    if tagger.startswith(("jigsaw", "ft_", "cld", "langdetect", "lingua")) or "nsfw" in tagger:
        return f"{tagger} needs a model; fasttext_filter and language_filter run models of fastText"
    return ""


def _tagger(tagger: str, line: int) -> Item:
    reason = _no_tagger(tagger)
    return Item(tagger, line, missing=reason) if reason else Item(tagger, line, [{tagger: None}])


def _dedupe(dedupe: Mapping[str, Any], line: int) -> Item:
    for kind, operator in (("documents", "document_deduplicator"), ("paragraphs", "paragraph_deduplicator")):
        if kind not in dedupe:
            continue
        key = str((dedupe[kind] or {}).get("key", "$.text"))
        notes = ["dolma finds copies by a Bloom filter, with false ones; here they are exact, and are removed."]
        if kind == "documents" and key != "$.text":
            return Item("dedupe", line, [{"key_deduplicator": {"key": _path(key)}}], notes=notes)
        return Item("dedupe", line, [{operator: None}], notes=notes)
    return Item("dedupe", line, missing="neither documents nor paragraphs are compared")


def _path(path: str) -> str:
    return ".".join(_ident(part) for part in path.removeprefix("$.").split("."))


def _ident(name: str) -> str:
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'
