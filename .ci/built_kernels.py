"""Build hook: compiles the kernels into the package, for this computer's kind of processor.

`REFINERY_BUILD_KINDS="x86-64-v2 x86-64-v3 x86-64-v4" python -m build --wheel` makes a wheel for all of these kinds.
`REFINERY_BUILD_PACKAGES="core text"` builds some packages of kernels; `none` leaves the kernels to a build of their own.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILT = "refinery/kernels/built"


class BuiltKernels(BuildHookInterface):  # type: ignore[type-arg]
    def dependencies(self) -> list[str]:
        """What the build needs beside pyproject's list: a linker, where the computer has none."""
        return [] if "CC" in os.environ or any(map(shutil.which, ("cc", "gcc", "clang"))) else ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if _packages() == ["none"]:
            return
        kinds = [word for kind in os.environ.get("REFINERY_BUILD_KINDS", "").split() for word in ("--kind", kind)]
        command = [sys.executable, "-m", "refinery.kernels.build", *_packages(), *kinds]
        built = Path(self.root) / BUILT
        for library in built.glob("kernels-*.*"):  # of a kind that is not asked for, perhaps of other sources
            library.unlink()
        subprocess.run(command, cwd=self.root, check=True)
        for library in sorted(built.glob("kernels-*.*")):
            build_data["force_include"][str(library)] = f"{BUILT}/{library.name}"
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"


def _packages() -> list[str]:
    return os.environ.get("REFINERY_BUILD_PACKAGES", "").split()
