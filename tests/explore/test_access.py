"""The page is for this machine and for the one who has the token; documents never run as code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.explore.pages import PLACE, TOKEN, client_of
from tests.runs import refine, texts


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("run")
    refine(folder, texts(["a", "bb", "a longer text"]), [{"text_length_filter": {"min_len": 2}}])
    with client_of(folder / "run") as client:
        yield client


@pytest.fixture
def stranger(client: TestClient) -> TestClient:
    """A client of the same application that has neither cookie nor header."""
    return TestClient(client.app, base_url=PLACE)


@pytest.mark.parametrize("path", ["/", "/api/session", "/api/waterfall", "/static/explore.js"])
def test_nothing_is_shown_without_the_token(stranger: TestClient, path: str) -> None:
    for query in ({}, {"token": ""}, {"token": TOKEN + "x"}, {"token": "ü"}):
        answer = stranger.get(path, params=query)
        assert answer.status_code == 403 and "refinery explore" in answer.text and "set-cookie" not in answer.headers


def test_the_token_of_the_address_becomes_a_cookie_that_scripts_cannot_read(stranger: TestClient) -> None:
    cookie = stranger.get("/", params={"token": TOKEN}).headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert stranger.get("/api/session").status_code == 200


def test_a_wrong_token_is_refused_although_the_cookie_is_right(client: TestClient) -> None:
    assert client.get("/api/session", params={"token": "x"}).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8765", "[::1", ""])
def test_a_name_that_leads_here_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/api/session", headers={"host": host}).status_code == 400


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1:8765"])
def test_a_foreign_origin_is_refused(client: TestClient, origin: str) -> None:
    assert client.get("/api/session", headers={"origin": origin}).status_code == 403


def test_the_own_origin_is_accepted(client: TestClient) -> None:
    assert client.get("/api/session", headers={"origin": PLACE}).status_code == 200
    forwarded = {"host": "localhost:9000", "origin": "http://localhost:9000"}  # a port that ssh forwards
    assert client.get("/api/session", headers=forwarded).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_what_writes_needs_the_token_in_a_header(client: TestClient, method: str) -> None:
    assert client.request(method, "/api/session", headers={"x-refinery-token": ""}).status_code == 403


@pytest.mark.parametrize("path", ["/", "/api/session", "/static/explore.js", "/static/lib/none.js", "/nothing"])
def test_every_answer_forbids_foreign_code(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path", ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "/etc/passwd", "lib/../../app.py", "..\\app.py"]
)
def test_files_beside_the_page_are_not_served(client: TestClient, path: str) -> None:
    assert client.get(f"/static/{path}").status_code == 404


def test_a_run_that_was_replaced_is_an_error(tmp_path: Path) -> None:
    refine(tmp_path, texts(["a", "bb"]), [{"text_length_filter": {"min_len": 2}}])
    with client_of(tmp_path / "run") as client:
        refine(tmp_path, texts(["a", "b"]), [{"text_length_filter": {"min_len": 2}}])
        answer = client.get("/api/waterfall")
        assert answer.status_code == 422 and "another run has ended here" in answer.json()["error"]
