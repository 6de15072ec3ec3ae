"""Every way of getting refinery finds its operators: a wheel, an editable install, a bare checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from refinery.kernels.core import library
from refinery.kernels.core.library import FLAGS

ROOT = Path(__file__).parent.parent
SHIPPED = (
    "sql/filters/text_length_filter.sql",
    "udfs/mappers/fix_unicode_mapper.py",
    "recipes/web_sample.yaml",
    "recipes/schema.json",
)

BUILT = "refinery/kernels/built"

RECIPE = """
dataset_path: in.jsonl
export_path: out.jsonl
process:
  - whitespace_normalization_mapper:
  - text_length_filter: {min_len: 5}
"""


# What `python -m refinery run` does, after the place of the package.
RUN = """
import runpy, sys
import refinery
print(refinery.__file__, flush=True)
sys.argv = ["refinery", "run", "recipe.yaml", "--quiet"]
runpy.run_module("refinery", run_name="__main__", alter_sys=True)
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that git knows, elsewhere, and the built kernels."""
    target = tmp_path_factory.mktemp("checkout")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.splitlines()):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    shutil.copytree(ROOT / BUILT, target / BUILT)
    return target


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(checkout),
    ]
    subprocess.run(command, check=True)
    (found,) = folder.glob("corpus_refinery-*.whl")
    return found


def run_a_recipe(folder: Path, path: Path, **env: str) -> None:
    """Run a small recipe with the refinery that is found under `path`, far from the checkout."""
    (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    (folder / "in.jsonl").write_text('{"text": "long\\u00a0enough"}\n{"text": "no"}\n', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(path), **env},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).parent.parent == path
    assert (folder / "out.jsonl").read_text(encoding="utf-8") == '{"text": "long enough"}\n'


def test_wheel_holds_the_operators_and_runs(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "site")
    assert {f"refinery/shipped/{name}" for name in SHIPPED} <= names
    assert {f"refinery/inspect/report/templates/{name}" for name in ("page.html", "style.css")} <= names
    static = ROOT / "refinery" / "explore" / "static"
    assert {path.relative_to(ROOT).as_posix() for path in static.rglob("*") if path.is_file()} <= names
    assert "refinery/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "bench/"))]
    assert [name for name in names if name.startswith(f"{BUILT}/")] == [
        f"{BUILT}/{library.path_of(library.kinds()[0]).name}"
    ]
    assert not wheel.name.endswith("-any.whl")
    (tmp_path / "work").mkdir()
    run_a_recipe(tmp_path / "work", tmp_path / "site")


@pytest.mark.long
def test_a_wheel_for_several_kinds_of_processors(checkout: Path, tmp_path: Path) -> None:
    """It has kernels for each kind, each of which computes the same."""
    kinds = [kind for kind in FLAGS if kind in library.kinds()]
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(checkout)]
    subprocess.run(
        command, env={**os.environ, "REFINERY_BUILD_KINDS": " ".join(kinds)}, check=True, capture_output=True
    )
    (found,) = tmp_path.glob("corpus_refinery-*.whl")
    with zipfile.ZipFile(found) as archive:
        archive.extractall(tmp_path / "site")
    for kind in kinds:
        (tmp_path / kind).mkdir()
        run_a_recipe(tmp_path / kind, tmp_path / "site", REFINERY_KERNELS=kind)


def test_bare_checkout_runs(checkout: Path, tmp_path: Path) -> None:
    run_a_recipe(tmp_path, checkout)


def test_editable_install_points_to_the_checkout(checkout: Path, tmp_path: Path) -> None:
    """The editable wheel holds only a pointer, which is what an interpreter follows."""
    code = f"import sys; from hatchling.build import build_editable; print(build_editable({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", code], cwd=checkout, capture_output=True, check=True)
    (found,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(found) as archive:
        (pointer,) = [name for name in archive.namelist() if name.endswith(".pth")]
        assert str(checkout) in archive.read(pointer).decode().splitlines()


def test_source_distribution_holds_everything(checkout: Path, tmp_path: Path) -> None:
    import tarfile

    code = f"from hatchling.build import build_sdist; print(build_sdist({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", code], cwd=checkout, capture_output=True, check=True)
    (found,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(found) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {*SHIPPED, "README.md", "Makefile", "tests/test_wheel.py", "docs/tables.md"} <= names
