"""LLVM code of the instructions that kernels are made of. Imported by the build alone.

Each function has the form of numba's `intrinsic`: it gets the types of the arguments and returns the signature and a
function that emits the code. Its meaning is the Python function of the same name in the kernels' modules.
"""
