"""Kernels over JSON lines: validity, fields, replacement of values."""

from typing import TYPE_CHECKING

from refinery.kernels import lazy

if TYPE_CHECKING:
    from refinery.kernels.json import jsoncheck as jsoncheck
    from refinery.kernels.json import jsonmembers as jsonmembers
    from refinery.kernels.json import jsonsplice as jsonsplice
    from refinery.kernels.json import jsontext as jsontext
else:
    __getattr__ = lazy.modules_of(__name__, __file__)
