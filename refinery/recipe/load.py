"""Loading of a recipe: from a file, text or dict, and the command line, to a checked `Recipe`."""

from __future__ import annotations

import os
from collections.abc import Callable
from collections.abc import Mapping as AnyMapping
from collections.abc import Sequence as AnySequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from refinery.common.paths import absolute
from refinery.errors import Problem, RecipeError, suggestion
from refinery.recipe.check import LibrarySource, check
from refinery.recipe.encoding import not_utf8, why_not_named
from refinery.recipe.model import Recipe
from refinery.recipe.override import Override, apply
from refinery.recipe.own_folder import in_own_folder
from refinery.recipe.parse import parse, parse_python
from refinery.recipe.peers.detect import translate
from refinery.recipe.peers.nodes import recipe_tree, translated_notes
from refinery.recipe.skipping import skip_steps
from refinery.recipe.steps import normalize_process
from refinery.recipe.template import TemplateValues, Variable
from refinery.recipe.tree import Mapping, Problems, SourcePlace

Guard = Callable[[Mapping, Problems], None]

_LARGEST = 16 << 20
_SUFFIXES = (".yaml", ".yml", ".json")


def load(
    recipe: str | os.PathLike[str] | AnyMapping[str, Any],
    overrides: AnySequence[Override] = (),
    variables: AnyMapping[str, Any] | None = None,
    *,
    library: LibrarySource,
    environ: AnyMapping[str, str] | None = None,
    need_inputs: bool = True,
    guard: Guard | None = None,
) -> Recipe:
    """Read and check a recipe.

    recipe: path of a YAML or JSON file, which may be another tool's configuration, or a dict. overrides: of `parse_overrides` or `overrides_of`. variables: values
    for `{{ name }}`. library: has `operators`, or is called with the folders that the recipe's `operators:` names and
    returns a library. environ: for `${NAME}`, the process's own by default. need_inputs: False if the samples are
    handed over otherwise. guard: checks the recipe before any part of it is used; the recipe then reads no environment.

    Raises RecipeError with every problem of the recipe; problems found up to the guard prevent the later checks. The
    error's `partial` is a `CheckedRecipe` with the valid rest of the recipe, if any.
    """
    if isinstance(recipe, AnyMapping):
        problems, values = Problems(), _values(variables, environ, guard)
        root = parse_python(recipe, values, problems)
        return _finish(root, overrides, values, problems, library, need_inputs, guard)
    path = os.fspath(recipe)
    if odd := why_not_named(absolute(path)):
        raise _failure("recipe", odd, "Rename the recipe or its folder.")
    text = _read(path)
    options: Any = {"library": library, "environ": environ, "need_inputs": need_inputs, "guard": guard}
    read = loads(text, path, overrides, variables, **options)
    return replace(read, path=absolute(path))


def loads(
    text: str,
    name: str = "recipe.yaml",
    overrides: AnySequence[Override] = (),
    variables: AnyMapping[str, Any] | None = None,
    *,
    library: LibrarySource,
    environ: AnyMapping[str, str] | None = None,
    need_inputs: bool = True,
    guard: Guard | None = None,
) -> Recipe:
    """`load` for a recipe's text, or another tool's configuration; `name` stands for the file in messages."""
    problems, values = Problems(), _values(variables, environ, guard)
    translation = translate(text, name)
    if translation is not None:
        tree = recipe_tree(translation, name, problems)
        recipe = _finish(tree, overrides, values, problems, library, need_inputs, guard)
        return replace(recipe, source=text, ignored=(*translated_notes(translation, name), *recipe.ignored))
    root = parse(text, name, values, problems)
    if root is None and not problems.found:
        problems.add(SourcePlace(name), "is empty", "Write dataset_path:, export_path: and process:.")
    elif root is not None and not isinstance(root, Mapping):
        problems.add(SourcePlace(name), "is not a mapping of keys", "Write keys such as dataset_path: and process:.")
    if not isinstance(root, Mapping):
        raise RecipeError(problems.sorted())
    root.place = SourcePlace(name)
    return replace(_finish(root, overrides, values, problems, library, need_inputs, guard), source=text)


def _finish(
    root: Mapping,
    overrides: AnySequence[Override],
    values: TemplateValues,
    problems: Problems,
    library: LibrarySource,
    need_inputs: bool,
    guard: Guard | None,
) -> Recipe:
    _unused(root, values, problems)
    apply(root, overrides, problems)
    normalize_process(root)
    skipped, notes = skip_steps(root, overrides, problems)
    if guard is not None:
        guard(root, problems)
        if problems.found:
            raise RecipeError(problems.sorted())
    checked = check(root, library, problems, need_inputs)
    if odd := [Problem(*problem) for problem in not_utf8(checked.recipe)]:
        raise RecipeError([*problems.sorted(), *odd])
    if problems.found:
        error = RecipeError(problems.sorted())
        error.partial = checked
        raise error
    recipe = replace(checked.recipe, skipped=skipped, ignored=(*notes, *checked.recipe.ignored))
    return in_own_folder(recipe, overrides)


def _unused(root: Mapping, values: TemplateValues, problems: Problems) -> None:
    """Report variables of the command line that the recipe does not have."""
    declared = root.entries["vars"].node if "vars" in root.entries else None
    known = set(declared.entries) if isinstance(declared, Mapping) else set()
    for variable in values.variables:
        if variable not in values.used and variable not in known:
            hint = suggestion(variable, values.used | known)
            problems.add(SourcePlace(f"--var {variable}"), f"the recipe has no variable {variable!r}", hint)


def _values(
    variables: AnyMapping[str, Any] | None, environ: AnyMapping[str, str] | None, guard: Guard | None
) -> TemplateValues:
    values = {n: v if isinstance(v, Variable) else Variable.of(v) for n, v in (variables or {}).items()}
    if guard is not None:
        return TemplateValues(values, {}, closed=True)
    return TemplateValues(values, os.environ if environ is None else environ)


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        raise _failure(path, "no such recipe", _neighbour(path)) from None
    except IsADirectoryError:
        raise _failure(path, "is a directory, not a recipe", _neighbour(os.path.join(path, "recipe.yaml"))) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _failure(path, f"cannot be read: {reason.lower()}", None) from None
    if len(data) > _LARGEST:
        raise _failure(path, f"is larger than {_LARGEST >> 20} MiB, too large for a recipe", "Is it the data set?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"is not UTF-8: byte 0x{data[error.start]:02X} cannot stand here"
        raise _failure(f"{path}:{line}", what, "Save the file as UTF-8.") from None


def _neighbour(path: str) -> str | None:
    """Hint at a recipe beside the missing one."""
    folder = Path(path).parent
    try:
        names = sorted(p.name for p in folder.iterdir() if p.suffix in _SUFFIXES)
    except (OSError, ValueError):
        return f"There is no folder {folder} either."
    near = suggestion(Path(path).name, names)
    if near or not names:
        return near
    return f"Recipes there: {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}."


def _failure(where: str, what: str, hint: str | None) -> RecipeError:
    return RecipeError([Problem(where, what, hint)])
