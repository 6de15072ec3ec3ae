"""Filters of addresses of three peers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.web_cases import Steps


def url_filter(params: Mapping[str, Any]) -> Steps:
    """datatrove's."""
    return Steps([{"url_filter": dict(params)}])


STEPS = {
    ("fineweb2", "url_filter"): url_filter,
}
