"""Filters of addresses of three peers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.web_cases import Steps


def url_filter(params: Mapping[str, Any]) -> Steps:
    """datatrove's."""
    return Steps([{"url_filter": dict(params)}])


def of_dclm(params: Mapping[str, Any]) -> Steps:
    """DCLM's filter of addresses."""
    return Steps([{"url_substring_filter": dict(params)}])


def of_datamap(params: Mapping[str, Any]) -> Steps:
    """datamap-rs's filter of addresses."""
    return Steps([{"url_substring_filter": {"as": "datamap", **params}}])


def normalize_url(params: Mapping[str, Any]) -> Steps:
    """DCLM's form of addresses by which it finds duplicates."""
    return Steps(
        [{"sql_mapper": {"text": "rtrim(regexp_replace(url, '^(https?://)?(www\\.)?', ''), '/')"}}],
        columns={"url": "VARCHAR"},
    )


STEPS = {
    ("dclm", "normalize_url"): normalize_url,
    ("dclm", "url_substring_filter"): of_dclm,
    ("datamap", "url_substring_filter"): of_datamap,
    ("fineweb2", "url_filter"): url_filter,
}
