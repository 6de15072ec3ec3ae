"""The build of the kernels' library, with numba and llvmlite: `python -m refinery.kernels.build`."""
