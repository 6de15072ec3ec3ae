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
    """Passes for what kernels do not have are left out, and the list of passes is made once for the same settings."""
    builder = core.compiler.DefaultPassBuilder
    define = builder.define_nopython_pipeline
    known: dict[Any, Any] = {}

    def pipeline(state: Any, name: str = "nopython") -> Any:
        flags = state.flags
        key = name, state.func_ir is None, flags.auto_parallel.enabled, flags.no_rewrites, flags.enable_ssa
        if key not in known:
            known[key] = define(state, name)
            passes = [(one, text) for one, text in known[key].passes if one.__name__ not in _NEEDLESS]
            known[key].passes = passes
        return known[key]

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
        names = getattr(module, "__dict__", {})
        if names.get("compute_cfg_from_blocks") is build:
            names["compute_cfg_from_blocks"] = graph


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
