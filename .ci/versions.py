"""Test a part of the suite with the oldest and the newest allowed libraries, by each Python that can be had.

Every combination gets a fresh virtual environment and compiles its own kernels. Oldest are the lower bounds of
`pyproject.toml`, by the oldest Python. A Python that is not on this machine is skipped, and the report says so.

    python .ci/versions.py                     all combinations
    python .ci/versions.py 3.11-oldest         one of them, by its name
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# Libraries whose interfaces change most; of all others the newest are installed.
LIBRARIES = ("duckdb", "llvmlite", "numba", "pyarrow", "ray")
TOOLS = ("hypothesis", "moto[server]", "pandas", "polars", "pytest", "pytest-xdist")
# Tests that touch these libraries: facts about DuckDB, Arrow in and out, kernels, workers, a cluster.
TESTS = (
    "tests/common",
    "tests/io",
    "tests/kernels/core",
    "tests/results/test_folder.py",
    "tests/workers/test_function_results.py",
    "tests/workers/test_prepared_statements.py",
    "tests/execution/ray/test_same.py",
)


class Combination(NamedTuple):
    """A Python and the requirements of libraries that are tested together."""

    python: str
    kind: str
    requirements: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name in the report and on the command line."""
        return f"{self.python}-{self.kind}"


def combinations() -> list[Combination]:
    """All combinations: the oldest libraries by the oldest Python, the newest ones by each."""
    return [Combination(PYTHONS[0], "oldest", lower_bounds()), *(Combination(python, "newest") for python in PYTHONS)]


def lower_bounds() -> tuple[str, ...]:
    """Requirements of exactly the oldest versions that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    listed = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    found = [re.match(r"([a-z0-9-]+)(?:\[.*\])?>=([\d.]+)", requirement) for requirement in listed]
    bounds = {match[1]: match[2] for match in found if match}
    return tuple(f"{name}=={bounds[name]}" for name in LIBRARIES if name in bounds)


def interpreter(version: str) -> str | None:
    """A Python of a version: on the path, of uv, or of pyenv; None without one."""
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))]
    if shutil.which("uv"):
        known = subprocess.run(
            ["uv", "python", "find", "--no-python-downloads", version], capture_output=True, text=True
        )
        places += known.stdout.split()
    for place in filter(shutil.which, places):
        if subprocess.run([place, "-c", asked], capture_output=True, text=True).stdout.strip() == version:
            return place
    return None


def outcome(combination: Combination) -> str:
    """Test one combination; returns `passed`, or why not."""
    python = interpreter(combination.python)
    if python is None:
        return f"skipped: there is no Python {combination.python} on this machine"
    with tempfile.TemporaryDirectory(prefix=f"refinery-{combination.name}-") as folder:
        own, checkout = Path(folder) / "venv" / "bin" / "python", copied(Path(folder) / "checkout")
        environment = os.environ | {
            "REFINERY_CACHE_DIR": str(Path(folder) / "cache"),
            "REFINERY_BUILD_PACKAGES": "none",
        }
        packages = [f"{checkout}[kernels,ray,remote]", *TOOLS, *combination.requirements]
        steps = {
            "no virtual environment": [python, "-m", "venv", own.parent.parent],
            "cannot be installed": [own, "-m", "pip", "install", "--quiet", "hatchling", "editables"],
            "libraries cannot be installed": [
                own,
                "-m",
                "pip",
                "install",
                "-q",
                "--no-build-isolation",
                "-e",
                *packages,
            ],
            "kernels are not built": [own, "-m", "refinery.kernels.build"],
            "tests failed": [own, "-m", "pytest", "-q", "-n", "auto", "--maxprocesses", "4", *TESTS],
        }
        for failure, command in steps.items():
            if subprocess.run(command, cwd=checkout, env=environment).returncode:
                return f"failed: {failure}"
    return "passed"


def copied(target: Path) -> Path:
    """The files that git knows, in another folder, which gets kernels of its own."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.splitlines()):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    return target


def main() -> None:
    """Test the combinations that are named, or all."""
    chosen = [one for one in combinations() if not sys.argv[1:] or one.name in sys.argv[1:]]
    if not chosen:
        sys.exit(f"combinations are {', '.join(one.name for one in combinations())}")
    outcomes = {one.name: outcome(one) for one in chosen}
    for name, text in outcomes.items():
        print(f"{name}: {text}")
    sys.exit(any(text.startswith("failed") for text in outcomes.values()))


if __name__ == "__main__":
    main()
