"""The draft of the public summary of training content that the AI Act asks for, as far as a run's data can say."""

from __future__ import annotations

from refinery.inspect.card.card import Card
from refinery.inspect.card.markdown import markdown

# Upper ends of the template's ranges of tokens, with their names.
_RANGES = ((10**9, "fewer than 1 billion tokens"), (10**13, "1 billion to 10 trillion tokens"))
_MORE = "more than 10 trillion tokens"


def eu_summary(card: Card) -> str:
    """The summary as Markdown; what data cannot say is marked for the provider."""
    figure = card.one("size", "Tokens of the kept samples")
    [record] = figure.records if figure is not None else [{"tokens": None}]
    tokens = record["tokens"]
    dates = next(entry for entry in card.sections["sources"].entries if entry.title == "Dates of the kept samples")
    hub = [path for item in card.run.manifest["inputs"] if (path := item["path"]).startswith("hf://")]
    return markdown(
        "eu",
        card,
        tokens=tokens,
        token_range=_MORE if tokens is None else _range(tokens),
        dates=dates,
        hub=hub,
        run_id=card.run.manifest["run_id"],
    )


def _range(tokens: int) -> str:
    return next((name for end, name in _RANGES if tokens <= end), _MORE)
