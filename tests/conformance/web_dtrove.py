"""datatrove's filters by language and in FineWeb's order: recorded in files of their own form, which another test reads."""

from __future__ import annotations

from tests.conformance.web_cases import VECTORS, Translation

STEPS: dict[tuple[str, str], Translation] = {}

LEFT = {
    ("fineweb2", path.stem): "compared in test_datatrove_quality.py"
    for path in sorted((VECTORS / "fineweb2").glob("fineweb*.jsonl"))
}
