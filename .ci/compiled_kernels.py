"""Build hook: puts machine code of all kernels into the wheel, for the kinds of processors in REFINERY_KERNELS.

`REFINERY_KERNELS="x86-64-v3 generic" python -m build --wheel` makes a wheel of one platform. Without the variable the
wheel has no machine code, is for every platform, and kernels are compiled when they are first used.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NEEDED = ["ftfy", "numba", "numpy", "pyarrow", "regex", "selectolax"]


def kinds() -> list[str]:
    return os.environ.get("REFINERY_KERNELS", "").split()


class CompiledKernels(BuildHookInterface):  # type: ignore[type-arg]
    def dependencies(self) -> list[str]:
        return NEEDED if kinds() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or not kinds():
            return
        folder = tempfile.mkdtemp()
        for kind in kinds():
            command = [sys.executable, "-m", "refinery.kernels.build", "--into", folder, "--kind", kind]
            subprocess.run(command, cwd=Path(self.root), check=True)
        build_data["force_include"][folder] = "refinery/kernels/compiled"
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
