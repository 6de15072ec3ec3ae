"""Build the kernels: `python -m refinery.kernels.build [packages or modules]`. Modules that have not changed are not compiled again."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# Kernels are optimised once, as a whole. numba reads this when it is imported, here and in processes of the build.
os.environ["NUMBA_OPT"] = "0"

from refinery.kernels.build.compile import Refused
from refinery.kernels.build.link import NoLinker, linker
from refinery.kernels.build.modules import PACKAGES, modules
from refinery.kernels.build.work import build
from refinery.kernels.core.library import BUILT, FLAGS, kinds


def main(arguments: Sequence[str]) -> int:
    """Build a library of kernels; 1 if that fails, with the reason on standard error."""
    parser = argparse.ArgumentParser(prog="python -m refinery.kernels.build", description=__doc__)
    parser.add_argument(
        "names", nargs="*", help=f"packages or modules, as `text.lines`; by default {', '.join(PACKAGES)}"
    )
    parser.add_argument("--into", type=Path, default=BUILT, help="folder of the library, by default the package's own")
    parser.add_argument(
        "--kind", action="append", help=f"processors to build for, by default this one's: {', '.join(FLAGS)}"
    )
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if not modules([name])]:
        parser.error(f"no kernels in: {', '.join(unknown)} (packages are {', '.join(PACKAGES)})")
    try:
        linker()
        build(options.kind or kinds()[:1], options.names or PACKAGES, options.into)
    except (Refused, NoLinker) as error:
        print(f"kernels are not built: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"kernels are not built: {error}\n{error.stderr}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
