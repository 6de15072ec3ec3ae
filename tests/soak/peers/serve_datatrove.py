"""Run blocks of datatrove over documents; started with datatrove's Python as `serve_datatrove.py DOCS JOBS RESULTS`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import serve
from datatrove.data import Document
from datatrove.pipeline import filters, formatters, stats
from datatrove.pipeline.decont import NGramsDecontConfig, NGramsDecontFilter, NGramsDecontIndexer
from datatrove.pipeline.dedup import (
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
    MinhashDedupSignature,
    SentDedupConfig,
    SentenceDedupFilter,
    SentenceDedupSignature,
    SentenceFindDedups,
)
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.utils import word_tokenizers
from datatrove.utils.hashing import HashConfig
from datatrove.utils.text import TextNormConfig

once = word_tokenizers.load_word_tokenizer


@lru_cache(None)
def remembering(language: str) -> Any:
    """The tokenizer of a language; it cuts each text once for all jobs."""
    found = once(language)
    for name in ("word_tokenize", "sent_tokenize", "span_tokenize"):
        setattr(found, name, lru_cache(None)(getattr(found, name)))
    return found


word_tokenizers.load_word_tokenizer = remembering
for module in (stats.word_stats, stats.sentence_stats, stats.contamination_stats):
    module.load_word_tokenizer = remembering


def block(op: str, params: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A function that applies a block of this class to one document."""
    if params.get("stop_chars") is not None:
        params["stop_chars"] = tuple(params["stop_chars"])
    if hasattr(filters, op):
        kept = getattr(filters, op)(**params)
        return lambda doc: filtered(kept, document(doc))
    if hasattr(formatters, op):
        return lambda doc: {"text": getattr(formatters, op)(**params).format(doc["text"])}
    if op in DEDUPLICATORS:
        return lambda docs: DEDUPLICATORS[op](dict(params), [document(doc) for doc in docs])
    if op == "NGramsDecont":
        return decontamination(dict(params))
    norm = {name: params.pop(name) for name in list(params) if name in NORM}
    if norm:
        params["norm_config"] = TextNormConfig(**norm)
    measure = getattr(stats, op)("/tmp", **params)
    return lambda doc: {"stats": measure.extract_stats(document(doc))}


NORM = ("lowercase", "norm_whitespace", "remove_punctuation", "norm_unicode_diacritics", "norm_numbers", "norm_weekdays", "norm_monthnames")  # fmt: skip


def decontamination(params: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    language = params.pop("language", "eng")
    items = serve.lines(params.pop("evaluation"))
    norm = {name: params.pop(name) for name in list(params) if name in NORM}
    config = NGramsDecontConfig(**params, norm_config=TextNormConfig(**norm))
    with TemporaryDirectory() as folder:
        indexer = NGramsDecontIndexer(
            folder, config=config, language=language
        )  # its run() looks for tasks of lighteval
        for task in {item["task"]: None for item in items}:
            own = [indexer.compute_hashes(item["label"], item["query"]) for item in items if item["task"] == task]
            hashes = np.array([*{one for found in own for one in found}], config.hash_config.np_descr)
            hashes.tofile(f"{folder}/{task.replace(' ', '_')}.index.hashes")
        block = NGramsDecontFilter(folder, config, language=language)
        block.load_index_hashes()
    return lambda doc: filtered(block, document(doc))


def document(doc: dict[str, Any]) -> Document:
    return Document(doc["text"], doc["id"], metadata={"url": doc["url"]})


def filtered(block: Any, doc: Document) -> dict[str, Any]:
    found = block.filter(doc)
    keep, reason = found if isinstance(found, tuple) else (found, None)
    return {"keep": bool(keep), "reason": reason, "text": doc.text if keep else None}


def minhash(params: dict[str, Any], docs: list[Document]) -> dict[str, Any]:
    names = {name: params.pop(name) for name in ("precision", "hash_fc") if name in params}
    config = MinhashConfig(**params, hash_config=HashConfig(**names))
    with TemporaryDirectory() as folder:
        places = [f"{folder}/{name}" for name in ("signatures", "buckets", "removed")]
        MinhashDedupSignature(places[0], config).run(docs)
        for rank in range(config.num_buckets):
            MinhashDedupBuckets(places[0], places[1], config=config).run(None, rank, config.num_buckets)
        MinhashDedupCluster(places[1], places[2], config).run(None, 0, 1)
        return {"number": len(list(MinhashDedupFilter(places[2]).run(docs)))}


def sentences(params: dict[str, Any], docs: list[Document]) -> dict[str, Any]:
    norm = {name: params.pop(name) for name in list(params) if name in NORM}
    config = SentDedupConfig(**params, norm_config=TextNormConfig(**norm))
    with TemporaryDirectory() as folder:
        places = [f"{folder}/{name}" for name in ("signatures", "removed")]
        SentenceDedupSignature(places[0], config=config).run(docs)
        SentenceFindDedups(places[0], places[1], config=config).run()
        return {"left": {doc.id: doc.text for doc in SentenceDedupFilter(places[1], config=config).run(docs)}}


DEDUPLICATORS = {"Minhash": minhash, "SentenceDedup": sentences}
serve.serve(block, *sys.argv[1:])
