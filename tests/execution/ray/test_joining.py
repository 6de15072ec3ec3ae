"""Choice of the cluster that a run joins, and the message when there is none."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from refinery.errors import OperatorError, RecipeError
from refinery.execution.ray import authentication, connection
from refinery.execution.ray.scheduling import TaskResources, of_stage
from refinery.operators import Library
from refinery.recipe import Step
from tests.execution.ray.runs import exported, local, on_ray, samples
from tests.runs import operator_folder, settings, texts, write_lines
from tests.waiting import HANG


def refused(address: str) -> str:
    """Message of an attempt to join."""
    ray = pytest.importorskip("ray")
    with pytest.raises(OperatorError) as caught:
        connection._join(ray, connection._place_of(address), 1)
    return str(caught.value)


def refused_command(tmp_path: Path, address: str) -> str:
    """Message of a command that cannot join."""
    write_lines(tmp_path / "in.jsonl", samples(10))
    recipe = settings(tmp_path, ["clean_email_mapper"], executor_type="ray", ray_address=address)
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe | {"export_path": str(tmp_path / "run" / "kept")}))
    command = [sys.executable, "-m", "refinery", "run", str(tmp_path / "recipe.yaml")]
    known = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    done = subprocess.run(command, env=known, capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 4 and "Traceback" not in done.stderr
    return done.stderr


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


NOBODY = "does not answer: Connection refused. Start one with `ray start --head`"


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_where_nobody_answers(scheme: str) -> None:
    assert NOBODY in refused(f"{scheme}127.0.0.1:{free_port()}")


@pytest.mark.parametrize("address", ["nonsense", "ray://127.0.0.1:1", "http://127.0.0.1:8265", "127.0.0.1:1"])
def test_an_address_of_the_environment_is_named(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    said = refused("auto")
    assert f"RAY_ADDRESS={address} in the environment" in said and "'auto' is no address" not in said
    assert "RAY_ADDRESS" not in refused(f"127.0.0.1:{free_port()}")


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """Address of a server that answers one connection with some bytes, and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answers() -> None:
            with server.accept()[0] as one:
                one.recv(100)
                one.sendall(answer)

        thread = threading.Thread(target=answers, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join(10)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"-ERR unknown command"])
@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_server_that_is_no_cluster_is_not_waited_for(answer: bytes, scheme: str) -> None:
    with (
        answering(answer) as address,
        pytest.raises(OperatorError, match="the server at 127.0.0.1:.* is no Ray cluster"),
    ):
        connection._join(Unwilling("not reached"), connection._place_of(scheme + address), 1)


def head_with_token(token: str) -> Any:
    """A server that answers as the head of a cluster does which wants a token; and its address."""
    grpc = pytest.importorskip("grpc")

    class Head(grpc.GenericRpcHandler):
        def service(self, call: Any) -> Any:
            def answer(request: bytes, context: Any) -> bytes:
                if ("authorization", f"Bearer {token}") not in call.invocation_metadata:
                    context.abort(grpc.StatusCode.UNAUTHENTICATED, "InvalidAuthToken")
                return b""

            return grpc.unary_unary_rpc_method_handler(answer)

    server = grpc.server(ThreadPoolExecutor(1), [Head()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, f"127.0.0.1:{port}"


def test_a_token_that_is_missing_or_wrong_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    server, address = head_with_token("right")
    (tmp_path / "token").write_text("right\n")
    try:
        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
        for mode, token in (("disabled", "right"), ("token", "wrong"), ("token", "")):
            monkeypatch.setenv("RAY_AUTH_MODE", mode)
            monkeypatch.setenv("RAY_AUTH_TOKEN", token)
            with pytest.raises(
                OperatorError, match="does not let this process in. It wants a token: set RAY_AUTH_MODE=token"
            ):
                connection._join(Unwilling("not reached"), connection._place_of(address), 1)
        monkeypatch.delenv("RAY_AUTH_TOKEN")
        monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "token"))
        with pytest.raises(OperatorError, match="cannot be joined: reached"):
            connection._join(Unwilling("reached"), connection._place_of(address), 1)
    finally:
        server.stop(None)


class Unwilling:
    """A Ray that does not let this process join, for a reason."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def init(self, **options: Any) -> None:
        raise RuntimeError(self._reason)


@pytest.mark.parametrize(
    ("reason", "cure"),
    [
        (
            "Version mismatch: The cluster was started with:\n    Ray: 2.40.0",
            "Start refinery with the Python and the Ray of",
        ),
        ("Authentication failed: no token", "RAY_AUTH_MODE=token"),
        ("something else", "ray start --head"),
    ],
)
def test_why_a_cluster_cannot_be_joined(reason: str, cure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "_SECONDS", 0.1)  # nobody answers to the token
    with answering(b"\0\0\0\x04") as address, pytest.raises(OperatorError) as caught:
        connection._join(Unwilling(reason), connection._place_of(address), 1)
    said = str(caught.value)
    assert " ".join(reason.split()) in said and cure in said and "\n" not in said
    assert ("RAY_AUTH_MODE" in said) == ("token" in reason)


@pytest.mark.long
def test_a_command_for_an_address_where_nobody_answers(tmp_path: Path) -> None:
    assert NOBODY in refused_command(tmp_path, f"127.0.0.1:{free_port()}")


class Nowhere:
    """A Ray that finds no cluster on this machine."""

    def init(self, **options: Any) -> None:
        raise ConnectionError("could not find any running Ray instance")


def test_auto_without_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(OperatorError, match="no Ray cluster runs on this machine. Start one with `ray start --head`"):
        connection._join(Nowhere(), connection._place_of("auto"), 1)


def test_auto_where_the_noted_cluster_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(f"127.0.0.1:{free_port()}")
    with pytest.raises(OperatorError, match=NOBODY):
        connection._join(Unwilling("not reached"), connection._place_of("auto"), 1)


def test_what_is_no_address() -> None:
    assert "'somewhere' is no address; it is one of auto, local, host:port or ray://" in refused("somewhere")


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    write_lines(tmp_path / "in.jsonl", samples(10))
    with pytest.raises(RecipeError, match=r"pip install 'ray\["):
        on_ray(tmp_path, ["clean_email_mapper"])
    assert not (tmp_path / "run").exists()


def test_the_core_does_not_import_ray(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", samples(10))
    recipe = settings(tmp_path, ["clean_email_mapper"])
    code = (
        f"import sys, refinery; refinery.run({recipe!r}); print({{'ray', 'refinery.execution.ray'}} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_what_no_machine_has_is_an_error(driver: Any, tmp_path: Path) -> None:
    own = operator_folder(tmp_path / "own", '"resources": {"num_gpus": 2},', drawing="return None")
    write_lines(tmp_path / "in.jsonl", texts(["a"]))
    with pytest.raises(
        OperatorError, match="drawing_mapper asks for 2 GPU, and no machine of the Ray cluster has more"
    ):
        on_ray(tmp_path, ["drawing_mapper"], operators=[str(own)])
    with pytest.raises(OperatorError, match="bytes of memory.*lower memory_limit, or raise np"):
        on_ray(tmp_path, ["clean_email_mapper"], memory_limit="900TB", np=1)


def test_tasks_ask_for_what_their_operators_declare() -> None:
    library = Library()
    plain = Step(1, "word_stats", {"language": "eng"})
    model = Step(2, "word_stats", {"language": "deu"})
    assert of_stage([plain], library.operators, 0) == TaskResources(1, 0, 0, False, "")
    assert of_stage([plain, model], library.operators, 1000).stays
    assert TaskResources(1, 1000, 0.5).options() == {"num_cpus": 1, "num_gpus": 0.5, "memory": 1000}


def test_a_wrong_declaration_is_reported(tmp_path: Path) -> None:
    for header, said in (
        ('"resources": {"num_gpus": -1},', "num_gpus must be a number from 0"),
        ('"resources": {"loads": {"model": True}},', "loads names 'model', which is no parameter"),
        ('"resources": {"cpus": 1},', "unknown header field 'cpus'"),
    ):
        own = operator_folder(tmp_path / "own", header, wrong="return None")
        with pytest.raises(OperatorError, match=said):
            Library((own,)).operators["wrong_mapper"]


@pytest.mark.long
def test_the_command_with_a_cluster_of_its_own(cluster: Any, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", samples(100))
    steps = ["clean_email_mapper", "document_deduplicator"]
    place = tmp_path / "ray"
    keys = {"executor_type": "ray", "ray_address": cluster.address, "export_path": place / "kept", "work_dir": place}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(settings(tmp_path, steps, **keys)))
    command = [sys.executable, "-m", "refinery", "run", str(tmp_path / "recipe.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "(pid=" not in done.stdout + done.stderr
    kept = b"".join(path.read_bytes() for path in sorted((place / "kept").glob("*.json")))
    assert kept == exported(local(tmp_path, steps))
