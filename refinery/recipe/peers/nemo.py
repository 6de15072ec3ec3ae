"""NeMo Curator: `stages` of classes (`_target_`) as Hydra reads them, or a `workflow` of a deduplication."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from refinery.recipe.peers.model import FindFile, Item, Source, Translation

PEER = "NeMo Curator"
_REFERENCE = re.compile(r"\$\{(\w+)\}")
_UNSET = "???"
# Stages that judge or change texts. `Score` removes nothing, and `Filter` judges a field: no operator does that alone.
_HOLDERS = {"ScoreFilter": "filter_obj", "Modify": "modifier_fn"}
_SNAKE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MISSING = {
    "fast_text_quality_filter": "it keeps samples at random by a Pareto distribution; fasttext_filter has a fixed bound",
    "tokenizer_fertility_filter": "tokens_per_character_stats measures it, and sql_filter bounds it",
    "per_extension_filter": "its table of limits is part of NeMo",
}


def is_nemo(content: Any) -> bool:
    """Return whether a file's content is a configuration of NeMo Curator."""
    if not isinstance(content, dict):
        return False
    stages = content.get("stages", content.get("workflow"))
    return isinstance(stages, list) and any(isinstance(s, dict) and "_target_" in s for s in stages)


def translate(source: Source, find: FindFile) -> Translation:
    """Translate a configuration of NeMo Curator."""
    result, content = Translation(PEER), source.content
    key = "stages" if "stages" in content else "workflow"
    for at, stage in enumerate(content[key]):
        stage = {name: _resolved(value, content) for name, value in stage.items()}
        item = _stage(stage, source.line(key, at), result, find)
        if item is not None:
            result.items.append(item)
    return result


def _resolved(value: Any, content: Mapping[str, Any]) -> Any:
    """A value with the file's own variables filled in."""
    if isinstance(value, dict):
        return {name: _resolved(one, content) for name, one in value.items()}
    if isinstance(value, str) and (whole := _REFERENCE.fullmatch(value)):
        return content.get(whole[1], value)
    return value


def _stage(stage: dict[str, Any], line: int, result: Translation, find: FindFile) -> Item | None:
    name = str(stage.pop("_target_", "")).rpartition(".")[2]
    if name.endswith(("Reader", "Writer")):
        _files(name, stage, result)
        return None
    if name.endswith("Workflow"):
        _files(name, {"file_paths": stage.get("input_path"), "path": stage.get("output_path")}, result)
        _text_field(stage.get("text_field"), result)
        return _workflow(name, stage, line)
    inner = stage.get(_HOLDERS.get(name, ""))
    if not isinstance(inner, dict) or "_target_" not in inner:
        return Item(name or "stage", line, missing="no operator does the work of this stage")
    if stage.get("invert"):
        return Item(name, line, missing="invert: it keeps what its filter would remove")
    text_field = stage.get("text_field", stage.get("input_fields"))
    return _operator(dict(inner), text_field, line, result, find)


def _operator(inner: dict[str, Any], text_field: Any, line: int, result: Translation, find: FindFile) -> Item:
    theirs = str(inner.pop("_target_")).rpartition(".")[2]
    name = _SNAKE.sub("_", theirs).lower()
    if name in _MISSING:
        return Item(theirs, line, missing=_MISSING[name])
    if name == "fast_text_lang_id":
        model, least = inner.get("model_path"), inner.get("min_langid_score", 0.3)
        given = {} if model in (None, _UNSET) else {"model": find(str(model))}
        notes = ["NeMo keeps a score of exactly the bound, language_filter does not."]
        return Item(theirs, line, [{"language_filter": {**given, "language_threshold": least}}], notes=notes)
    notes = []
    if theirs == "BoilerPlateStringFilter" and inner.pop("remove_if_at_top_or_bottom", None) is not None:
        notes.append("NeMo does not use remove_if_at_top_or_bottom.")
    if name == "substring_filter":
        inner = {"as": "nemo", **inner}
    _text_field(text_field, result)
    return Item(theirs, line, [{name: inner or None}], notes=notes)


def _files(name: str, stage: Mapping[str, Any], result: Translation) -> None:
    for key, ours in (("file_paths", "dataset_path"), ("path", "export_path")):
        value = stage.get(key)
        if isinstance(value, str) and value != _UNSET and not _REFERENCE.search(value):
            result.keys[ours] = value


def _text_field(field: Any, result: Translation) -> None:
    if isinstance(field, str) and field not in ("text", _UNSET):
        result.keys["text_keys"] = field


def _workflow(name: str, stage: Mapping[str, Any], line: int) -> Item:
    if name == "ExactDeduplicationWorkflow":
        notes = ["NeMo compares texts by MD5; white space at the ends counts there, and does not here."]
        return Item(name, line, [{"document_deduplicator": None}], notes=notes)
    if name == "FuzzyDeduplicationWorkflow":
        bands, rows = int(stage.get("num_bands", 20)), int(stage.get("minhashes_per_band", 13))
        params = {
            "tokenization": "character",
            "window_size": int(stage.get("char_ngrams", 24)),
            "lowercase": False,
            "bands": bands,
            "rows": rows,
            "short": "compare",
        }
        notes = ["The same shingles and bands with other hash functions: clusters are alike, not equal."]
        return Item(name, line, [{"document_minhash_deduplicator": params}], notes=notes)
    if name == "TextSemanticDeduplicationWorkflow":
        missing = (
            "put embedding_mapper and semantic_deduplicator there, with the path of the model; k-means is not used"
        )
        return Item(name, line, missing=f"{missing} (cosine_threshold: {1 - float(stage.get('eps', 0.01)):g})")
    return Item(name, line, missing="no operator does the work of this workflow")
