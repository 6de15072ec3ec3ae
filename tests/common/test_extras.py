"""Messages about a missing package give a command that installs it, and never another project's `refinery`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from refinery.common.extras import DISTRIBUTION, REQUIREMENTS, install_command, lacks
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TEXTS = {".md", ".py", ".sql", ".yaml", ".yml", ".toml", ".txt"}
FOLDERS = ("refinery", "sql", "udfs", "recipes", "docs", "bench", "tests", ".ci")


def test_the_distribution_has_a_name_of_its_own() -> None:
    assert PROJECT["name"] == DISTRIBUTION != "refinery"
    assert PROJECT["scripts"] == {"refinery": "refinery.__main__:start"}


def test_extras_of_messages_are_those_of_the_project() -> None:
    extras = {name: tuple(packages) for name, packages in PROJECT["optional-dependencies"].items() if packages}
    assert {**REQUIREMENTS, "dev": extras["dev"]} == extras


@pytest.mark.parametrize("extra", REQUIREMENTS)
def test_a_cure_names_packages_that_can_be_installed(extra: str) -> None:
    packages = re.findall(r"'([^']+)'", install_command(extra))
    assert packages == list(REQUIREMENTS[extra])
    assert all(Requirement(package).name != "refinery" for package in packages)
    assert install_command(extra).startswith("pip install '") and DISTRIBUTION in install_command(extra)


def test_the_package_that_is_missing_is_named() -> None:
    said = lacks("to_ray", "ray", ModuleNotFoundError("No module named 'pandas.core'", name="pandas.core"))
    assert said == f"to_ray needs the Python package 'pandas', which is not installed: {install_command('ray')}"
    said = lacks("to_ray", "ray", ModuleNotFoundError("No module named 'ray'", name="ray"))
    assert said == f"to_ray needs Ray, which is not installed: {install_command('ray')}"
    assert "needs Ray" in lacks("to_ray", "ray", ImportError("cannot import name"))


def test_what_ray_is_used_for_is_in_the_extra() -> None:
    """Its datasets, which read with pandas, its client, its dashboard and the submission of jobs."""
    [ray] = [Requirement(package) for package in REQUIREMENTS["ray"]]
    assert ray.extras == {"default", "data", "client"}


def test_a_package_that_is_no_extra_is_installed_by_its_name() -> None:
    assert install_command("wibble") == "pip install 'wibble'"


def _files() -> list[Path]:
    below = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in TEXTS]
    return [
        *below,
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "pyproject.toml")),
    ]


def test_nothing_names_an_extra_of_the_other_project() -> None:
    """The package index has a `refinery` of someone else, which `pip install refinery[...]` would bring."""
    other = re.compile(r"(?<![\w-])refinery\[\w|pip install[^\n`#]*['\s]refinery(?![\w./-])")
    own = Path(__file__)
    named = {file: other.findall(file.read_text("utf-8", "replace")) for file in _files() if file != own}
    assert not {str(file): found for file, found in named.items() if found}
