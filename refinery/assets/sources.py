"""Public sources of assets: name, address, licence, size. Nothing is loaded from them unasked."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from dataclasses import dataclass

_HUB = "https://huggingface.co"
_MODELS = "https://dl.fbaipublicfiles.com/fasttext/supervised-models"
_JUICER = "https://dail-wlcb.oss-cn-wulanchabu.aliyuncs.com/data_juicer"


@dataclass(frozen=True)
class Source:
    """Public sources of the files of a name.

    pattern: of names. url: `{file}` is the name. hub: repository and folder on the Hugging Face Hub. file: name of the
    file for a pattern of files in a folder. bytes: about the size, 0 if it differs from file to file.
    """

    pattern: str
    what: str
    licence: str
    url: str = ""
    hub: tuple[str, str] = ("", "")
    file: str = ""
    bytes: int = 0

    def address(self, name: str) -> str:
        """The URL of a file; `HF_ENDPOINT` names a mirror of the Hub, as for the Hub's own library."""
        if self.url:
            return self.url.format(file=self.file or name)
        repository, folder = self.hub
        return f"{_endpoint()}/{repository}/resolve/main/{folder}{name.rpartition('/')[2]}"


SOURCES = (
    Source("lid.176.bin", "fastText language identification", "CC BY-SA 3.0", f"{_MODELS}/{{file}}", bytes=131_266_198),
    Source("lid.176.ftz", "the same, quantized", "CC BY-SA 3.0", f"{_MODELS}/{{file}}", bytes=938_013),
    Source(
        "cis-lmu/glotlid/model_v3.bin",
        "GlotLID, fastText for 2,102 languages with their scripts",
        "Apache 2.0",
        hub=("cis-lmu/glotlid", ""),
        bytes=1_700_000_000,
    ),
    Source(
        "*.sp.model", "SentencePiece, trained on Wikipedia", "MIT", hub=("edugp/kenlm", "wikipedia/"), bytes=900_000
    ),
    Source("*.arpa.bin", "KenLM, trained on Wikipedia", "MIT", hub=("edugp/kenlm", "wikipedia/"), bytes=4_400_000_000),
    Source("*flagged_words*.json", "flagged words", "not stated", f"{_JUICER}/{{file}}", file="flagged_words.json"),
    Source("*stopwords*.json", "stop words", "not stated", f"{_JUICER}/{{file}}", file="stopwords.json"),
    Source(
        "EleutherAI/pythia-6.9b-deduped/tokenizer.json",
        "byte-level BPE tokenizer",
        "Apache 2.0",
        hub=("EleutherAI/pythia-6.9b-deduped", ""),
        bytes=2_110_000,
    ),
)


def source_of(name: str) -> Source | None:
    """The source of an asset; for any other tokenizer of the Hub its repository. None if no source is known."""
    for source in SOURCES:
        if fnmatch.fnmatchcase(name, source.pattern) and name.count("/") == source.pattern.count("/"):
            return source
    repository, _, file = name.rpartition("/")
    if file == "tokenizer.json" and repository and repository.count("/") <= 1:
        return Source(name, "tokenizer", "that of the model", hub=(repository, ""))
    return None


def hub_files(name: str) -> Iterator[tuple[str, str]]:
    """Repositories on the Hub that may hold an asset, with its path in them."""
    source = source_of(name)
    if source is not None and source.hub[0]:
        yield source.hub[0], source.hub[1] + name.rpartition("/")[2]
    parts = name.split("/")
    for cut in (1, 2):
        if len(parts) > cut:
            yield "/".join(parts[:cut]), "/".join(parts[cut:])


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or _HUB
