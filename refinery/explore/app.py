"""The application: the page, its files, and the JSON of its views."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from refinery.common.lazy import duckdb
from refinery.common.paths import shorter
from refinery.common.redaction import hide
from refinery.common.version import __version__
from refinery.errors import Problem, RecipeError, RefineryError
from refinery.explore.access import HOSTS, Access
from refinery.explore.model import Endpoint, Query, View, jsonable
from refinery.explore.run import ExploredRun
from refinery.explore.views import all_views

STATIC = Path(__file__).parent / "static"


def make_app(run: ExploredRun, token: str, name: str = "refinery", views: Sequence[View] | None = None) -> Starlette:
    """The application over one run. name: of its cookie. views: by default all."""
    shown = all_views() if views is None else list(views)
    api = [_route(run, view, endpoint) for view in shown for endpoint in view.endpoints]
    routes = [
        Route("/", _page),
        Route("/api/session", partial(_session, run, token, shown)),
        *api,
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    middleware = [
        Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False),
        Middleware(Access, token=token, cookie=name),
    ]
    return Starlette(routes=routes, middleware=middleware)


def _page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html")


def _session(run: ExploredRun, token: str, views: Sequence[View], request: Request) -> Response:
    """Facts that the page needs before its first view."""
    facts = {
        "run": shorter(str(run.folder)),
        "others": [shorter(str(other)) for other in run.others],
        "version": __version__,
        "token": token,
        "views": [{"name": view.name, "title": view.title} for view in views],
    }
    return JSONResponse(jsonable(facts))


def _route(run: ExploredRun, view: View, endpoint: Endpoint) -> Route:
    path = f"/api/{view.name}/{endpoint.path}".rstrip("/")
    return Route(path, partial(_answer, run, endpoint), methods=[endpoint.method])


async def _answer(run: ExploredRun, endpoint: Endpoint, request: Request) -> Response:
    """The answer of an endpoint as JSON; an error as its message."""
    try:
        query = Query({**request.query_params, **request.path_params}, await _body(request))
        value = await run_in_threadpool(endpoint.answer, run, query)
    except RefineryError as error:
        return _refusal(str(error), 422)
    except duckdb.Error as error:
        return _refusal(str(error), 500)
    except Exception as error:
        if os.environ.get("REFINERY_TRACEBACK"):
            raise
        return _refusal(f"internal error: {type(error).__name__}: {error}. This is a fault of refinery", 500)
    return JSONResponse(jsonable(value))


def _refusal(message: str, status: int) -> Response:
    return JSONResponse({"error": shorter(hide(message))}, status_code=status)


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object of a POST."""
    if request.method != "POST":
        return {}
    try:
        body = json.loads(await request.body() or b"{}")
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise RecipeError([Problem("body", "is no JSON object")])
    return body
