"""Code of templates is stored for one template, one version of Jinja and the options of its syntax."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jinja2 import FunctionLoader
from jinja2.sandbox import SandboxedEnvironment

from refinery.compiler import template_code

BODY = "{% if x %}\na\n{% endif %}\n"


def rendered(**syntax: Any) -> str:
    cache = template_code.code_cache(syntax)
    found = SandboxedEnvironment(loader=FunctionLoader({"t": BODY}.get), bytecode_cache=cache, **syntax)
    return found.get_template("t").render(x=True)


def test_stored_code_is_used_for_the_same_options_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_code, "cache_root", lambda: tmp_path)
    assert [rendered(trim_blocks=on) for on in (True, True, False, False)] == ["a\n"] * 2 + ["\na\n\n"[:-1]] * 2
    assert len(list(tmp_path.iterdir())) == 2 and len(list(tmp_path.glob("*/*"))) == 2


def test_damaged_code_is_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_code, "cache_root", lambda: tmp_path)
    whole = rendered(trim_blocks=True)
    [path] = tmp_path.glob("*/*")
    path.write_bytes(path.read_bytes()[:-3])
    assert rendered(trim_blocks=True) == whole
