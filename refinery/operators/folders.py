"""Finds operators and features below `sql/`, `udfs/`, in installed packages and in the user's own folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from os.path import splitext
from pathlib import Path
from typing import TypeVar

from refinery.common.paths import absolute
from refinery.dedup.matchers import MATCHERS
from refinery.errors import OperatorError
from refinery.operators.headers import aliases, read_feature, read_operator
from refinery.operators.home import shipped
from refinery.operators.misplaced import problem_with
from refinery.operators.model import KINDS, Feature, Function, Operator
from refinery.operators.packages import OperatorPackage, operator_packages
from refinery.operators.processes import import_anew
from refinery.operators.reader_files import FOLDER, ReaderFile, read_reader

Item = TypeVar("Item")


class Library:
    """Operators and features of the shipped folders, of installed packages and of the user's own folders, read at first use.

    A new library has the user's code imported anew.
    """

    def __init__(self, extra: tuple[str | Path, ...] = ()) -> None:
        import_anew()
        self._extra = [Path(absolute(str(path))) for path in extra]
        for folder in self._extra:
            if problem := problem_with(folder):
                raise OperatorError(f"{folder}: {problem}")

    @cached_property
    def packages(self) -> dict[Path, OperatorPackage]:
        """Installed packages with operators, by their folders."""
        return {package.folder: package for package in operator_packages()}

    @cached_property
    def _folders(self) -> list[Path]:
        home = shipped()
        folders = [home / "sql", home / "udfs", *self.packages, *self._extra]
        return list({os.path.realpath(folder): folder for folder in folders[::-1]}.values())[::-1]

    def package_of(self, path: Path) -> OperatorPackage | None:
        """The installed package that an operator's file is in; None for a shipped one, or one of the user's folders."""
        return self.packages.get(path.parent.parent)

    @cached_property
    def _paths(self) -> dict[str, tuple[str, Path]]:
        paths: dict[str, tuple[str, Path]] = {}
        for folder in self._folders:
            for directory in (*KINDS, "features"):
                for path in _files(folder / directory, (".sql", ".py")):
                    self._claim(paths, path, directory)
        return paths

    def names_below(self, folder: Path) -> list[tuple[str, Path]]:
        """Names and files of the operators of one of the folders."""
        return [
            (name, path) for name, (kind, path) in self._paths.items() if kind in KINDS and path.parent.parent == folder
        ]

    @cached_property
    def readers(self) -> Mapping[str, ReaderFile]:
        """Input formats of the folders, by name."""
        readers: dict[str, ReaderFile] = {}
        for path in (path for root in self._folders for path in _files(root / FOLDER, (".py",))):
            file = read_reader(path)
            if (other := readers.setdefault(file.name, file)) is not file:
                raise OperatorError(f"{path}: the format {file.name!r} is in {other.path}; choose another FORMAT")
        return readers

    def _claim(self, claimed: dict[str, tuple[str, Path]], path: Path, directory: str) -> None:
        taken = claimed.get(path.stem)
        if taken:
            raise OperatorError(self._clash(path, taken[1]))
        claimed[path.stem] = (directory, path)

    def _clash(self, path: Path, other: Path) -> str:
        """The message for two files of one name."""
        package = self.package_of(path)
        if package is None:
            by = self.package_of(other)
            return f"{path}: the name {path.stem!r} is taken by {other}{f' of {by}' if by else ''}; rename the file"
        what = f"{package} has an operator {path.stem!r} ({path}), and so has {self.package_of(other) or 'refinery'} ({other})"
        return f"{what}. Uninstall one of the packages, or have the operator renamed"

    @cached_property
    def operators(self) -> Mapping[str, Operator]:
        """Operators by name, each header read at first use."""
        paths = {n: p for n, (d, p) in self._paths.items() if d in KINDS}
        return _Lazy(paths, lambda name, path: read_operator(path, name, self.matchers), lambda: self._aliases)

    @cached_property
    def matchers(self) -> dict[str, Path]:
        """Files of users' matchers, by the names that headers of deduplicators give under `match`."""
        claimed: dict[str, tuple[str, Path]] = {name: ("", Path(f"refinery's matcher {name}")) for name in MATCHERS}
        for folder in self._folders:
            for path in _files(folder / "matchers", (".py",)):
                self._claim(claimed, path, "matchers")
        return {name: path for name, (directory, path) in claimed.items() if directory}

    @cached_property
    def _aliases(self) -> dict[str, Path]:
        """Aliases of deduplicators; only their headers have them."""
        by_alias: dict[str, Path] = {}
        for directory, path in self._paths.values():
            if directory == "deduplicators":
                by_alias.update(dict.fromkeys(aliases(path), path))
        return by_alias

    @cached_property
    def features(self) -> Mapping[str, Feature]:
        """Features by name."""
        paths = {n: p for n, (d, p) in self._paths.items() if d == "features"}
        return _Lazy(paths, lambda name, path: read_feature(path))

    def functions(self) -> list[Function]:
        """Functions of all operators and features, each name once."""
        by_name: dict[str, Function] = {}
        functions = [function for feature in self.features.values() for function in feature.functions]
        functions += [function for operator in self.operators.values() for function in operator.functions]
        for function in functions:
            other = by_name.setdefault(function.name, function)
            if other.path != function.path:
                raise OperatorError(f"{function.path}: function {function.name!r} is also in {other.path}")
        return list(by_name.values())


def _files(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """Files of a folder by name, without those whose names begin with `_`; none of a folder that is not there."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [folder / name for name in sorted(names) if splitext(name)[1] in endings and name[0] != "_"]


class _Lazy(Mapping[str, Item]):
    """Mapping that reads each item at its first use. aliases: further names, for which other files are read."""

    def __init__(
        self,
        paths: dict[str, Path],
        read: Callable[[str, Path], Item],
        aliases: Callable[[], Mapping[str, Path]] = dict,
    ) -> None:
        self._named, self._read, self._aliases = paths, read, aliases
        self._loaded: dict[str, Item] = {}

    @cached_property
    def _paths(self) -> dict[str, Path]:
        return {**self._named, **self._aliases()}

    def __getitem__(self, name: str) -> Item:
        if name not in self._loaded:
            path = self._named[name] if name in self._named else self._paths[name]
            self._loaded[name] = self._read(name, path)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._named or name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._paths))

    def __len__(self) -> int:
        return len(self._paths)


@cache
def read_sql(relative: str) -> str:
    """Text of a file below the shipped `sql/` folder."""
    return (shipped() / "sql" / relative).read_text(encoding="utf-8")
