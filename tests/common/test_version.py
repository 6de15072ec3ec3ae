"""Code and changelog agree on the version."""

from __future__ import annotations

import re

from packaging.version import Version

from refinery import __version__
from tests.conftest import ROOT


def test_the_version_is_that_of_the_changelogs_first_heading() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    unreleased = re.fullmatch(r"Unreleased \((\S+)\)", headings[0])
    own = Version(__version__)
    assert own.base_version == (unreleased[1] if unreleased else headings[0])
    assert own.is_devrelease == bool(unreleased)
    earlier = [Version(heading.split()[0]) for heading in headings[1:]]
    assert earlier == sorted(earlier, reverse=True) and all(version < own for version in earlier)
