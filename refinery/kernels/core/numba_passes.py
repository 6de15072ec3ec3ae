"""Less work for numba's passes, for a process that only compiles kernels; a part of `numba_shortcuts`.

Kernels have no closures, array expressions, `with` or parallel loops, and numba looks for them in each function. It also
finds out the same again and again: the graph of a function's blocks a dozen times, the type of `np` or `min` at each use.
"""

import sys
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numba.core

core: Any = numba.core  # not typed, because its functions are replaced

_NEEDLESS = frozenset(
    (
        "DumpParforDiagnostics",
        "FindLiterallyCalls",
        "InlineInlinables",
        "InlineOverloads",
        "LiteralPropagationSubPipelinePass",
        "LiteralUnroll",
        "NoPythonSupportedFeatureValidation",
        "NopythonRewrites",
        "WithLifting",
    )
)


def few_passes() -> None:
    """Passes for what kernels do not have are left out."""
    builder = core.compiler.DefaultPassBuilder
    define = builder.define_nopython_pipeline

    def pipeline(*args: Any, **named: Any) -> Any:
        made = define(*args, **named)
        made.passes = [(one, text) for one, text in made.passes if one.__name__ not in _NEEDLESS]
        return made

    builder.define_nopython_pipeline = staticmethod(pipeline)


def graphs_once() -> None:
    """The graph of a function's blocks is built once for the same blocks and jumps."""
    build = core.analysis.compute_cfg_from_blocks
    known: dict[Any, Any] = {}

    def graph(blocks: Any) -> Any:
        key = tuple((label, *block.body[-1].get_targets()) for label, block in blocks.items())
        if key not in known:
            if len(known) > 4096:
                known.clear()
            known[key] = build(blocks)
        return known[key]

    for module in list(sys.modules.values()):
        if vars(module).get("compute_cfg_from_blocks") is build:
            vars(module)["compute_cfg_from_blocks"] = graph


def constants_once() -> None:
    """The type of a function, class, module or kernel, as a constant, is found once."""
    context = core.typing.context.BaseContext
    resolve = context.resolve_value_type
    known: dict[Any, Any] = {}

    def once(self: Any, value: Any) -> Any:
        if not (isinstance(value, BuiltinFunctionType | ModuleType | type) or hasattr(type(value), "_numba_type_")):
            return resolve(self, value)
        key = id(self), id(value)
        if key not in known:
            known[key] = resolve(self, value), value  # which is kept, so its identity is never used again
        return known[key][0]

    context.resolve_value_type = once
