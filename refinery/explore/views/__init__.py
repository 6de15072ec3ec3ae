"""The views of the page: one module each, with the JSON that its script `static/views/<name>.js` shows."""

from __future__ import annotations

import importlib
import pkgutil

from refinery.explore.model import View


def all_views() -> list[View]:
    """The views of the modules in this package, each of which has one named VIEW, in the order of the navigation."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    views = [importlib.import_module(f"{__name__}.{name}").VIEW for name in names]
    return sorted(views, key=_order)


def _order(view: View) -> tuple[int, str]:
    return view.order, view.name
