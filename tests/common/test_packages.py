"""Versions of packages are those of importlib.metadata."""

from __future__ import annotations

import importlib.metadata

import pytest

from refinery.common.packages import installed_version


@pytest.mark.parametrize("name", ["duckdb", "jinja2", "pyyaml", "PyYAML", "numpy", "click", "ftfy"])
def test_a_version_is_that_of_the_standard_library(name: str) -> None:
    assert installed_version(name) == importlib.metadata.version(name)


def test_a_package_that_is_not_there_has_no_version() -> None:
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        installed_version("no-such-package-anywhere")
