"""The cache folder is this user's alone, wherever it has to be."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refinery.common import cache_folder
from refinery.common.cache_files import read_cached, write_cached
from refinery.common.cache_folder import cache_root, is_private, named_folder, temporary_root
from refinery.results.locks import locked
from refinery.storage.workplace import Workplace


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A home and a folder for temporary files of the test's own."""
    for name in ("REFINERY_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    cache_folder._usable.cache_clear()
    yield
    cache_folder._usable.cache_clear()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_in_the_home_and_nobody_else_reads_it(tmp_path: Path) -> None:
    assert cache_root() == tmp_path / "home" / ".cache" / "refinery" and mode(cache_root()) == 0o700


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"REFINERY_CACHE_DIR": "/a/b"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/a"}, "/a/refinery"),
        ({"XDG_CACHE_HOME": "relative"}, "HOME/.cache/refinery"),
        ({"HOME": "relative"}, None),
    ],
)
def test_what_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str | None
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert named_folder() == (Path(folder.replace("HOME", str(tmp_path / "home"))) if folder else None)


def test_without_a_home_it_is_below_the_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "relative")
    assert cache_root() == tmp_path / "tmp" / f"refinery-{os.geteuid()}" and mode(cache_root()) == 0o700


@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME", "REFINERY_CACHE_DIR"])
def test_a_file_in_its_place_is_passed_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(variable, str(tmp_path / "file"))
    assert cache_root() == tmp_path / "tmp" / f"refinery-{os.geteuid()}"


def of_another_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a folder belong to another user, as far as Python can see."""
    real = os.stat, os.lstat

    def seen_by(look: Any) -> Any:
        def looked(path: Any, *arguments: Any, **named: Any) -> Any:
            found = look(path, *arguments, **named)
            if not Path(path).is_relative_to(folder):
                return found
            return os.stat_result([*found[:4], found[4] + 1, *found[5:10]])

        return looked

    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(os, "stat", seen_by(real[0]))
    monkeypatch.setattr(os, "lstat", seen_by(real[1]))


def test_a_folder_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code in it would be run as this user."""
    monkeypatch.setenv("HOME", "relative")
    shared = tmp_path / "tmp" / f"refinery-{os.geteuid()}"
    of_another_user(shared, monkeypatch)
    found = cache_root()
    assert found != shared and found.parent == tmp_path / "tmp" and mode(found) == 0o700
    assert os.environ["REFINERY_CACHE_DIR"] == str(found)  # for worker processes


@pytest.mark.parametrize("bits", [0o777, 0o770, 0o702])
def test_in_a_folder_that_others_write_to_it_is_one_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: int
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(bits)
    monkeypatch.setenv("REFINERY_CACHE_DIR", str(shared))
    assert cache_root() == shared / f"refinery-{os.geteuid()}" and mode(cache_root()) == 0o700


def test_a_link_of_another_user_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    assert is_private(link, os.geteuid())
    real = os.lstat
    other = os.stat_result([*real(link)[:4], os.geteuid() + 1, *real(link)[5:10]])
    monkeypatch.setattr(os, "lstat", lambda path, **named: other if path == link else real(path, **named))
    assert not is_private(link, os.geteuid())


def test_a_full_disk_is_passed_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs

    def full(path: Any) -> Any:
        found = real(path)
        return os.statvfs_result((*found[:4], 0, *found[5:])) if "home" in str(path) else found

    monkeypatch.setattr(os, "statvfs", full)
    assert cache_root() == tmp_path / "tmp" / f"refinery-{os.geteuid()}"


def test_a_run_at_a_url_has_a_folder_of_this_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables that the run leaves there are put at the URL."""
    shared = tmp_path / "tmp" / f"refinery-runs-{os.geteuid()}"
    assert Workplace.of("s3://a/b").run_dir.root.parent == shared and mode(shared) == 0o700
    of_another_user(shared, monkeypatch)
    assert Workplace.of("s3://a/b").run_dir.root.parent == cache_root() / "runs"
    assert Workplace.of("s3://a/b").temporary == tmp_path / "tmp" / f"refinery-nodes-{os.geteuid()}"


def test_locks_hold_where_somebody_else_has_the_name_of_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: path != "/tmp")
    shared = tmp_path / "tmp" / f"refinery-locks-{os.geteuid()}"
    of_another_user(shared, monkeypatch)
    assert temporary_root("locks") == cache_root() / "locks"
    with locked({"a": True}):
        assert len(list((cache_root() / "locks").iterdir())) == 1


def test_without_any_folder_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "relative")
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/dev/null/no")
    found = cache_root()
    write_cached(found / "stages" / "x", b"content", 10)
    assert not found.exists() and read_cached(found / "stages" / "x") is None
