"""Photos over HTTP: a verdict and its record for a photo, a clear refusal for everything else."""

import http.client
import json
import threading
from contextlib import closing

import pytest

from inspect_core.audit.entry import INSPECTION
from inspect_core.audit.log import AuditLog
from inspect_core.line.audit_record import AuditRecord
from inspect_core.station.http_inspection import TOKEN, HttpInspection
from tests.line.conftest import ByBrightness


@pytest.fixture
def served(monkeypatch):
    """served(token) is a running server and ask(method, path, body, headers), which gives status and answer."""
    opened = []

    def start(token: str = ""):
        monkeypatch.setenv(TOKEN, token)
        log = AuditLog.open()
        server = HttpInspection(ByBrightness(), AuditRecord(log, ByBrightness(), "line"), "127.0.0.1", 0)
        threading.Thread(target=server.run, daemon=True).start()
        opened.append((server, log))

        def ask(method: str, path: str, body: bytes | None = None, **headers):
            host, port = server.address.removeprefix("http://").split(":")
            with closing(http.client.HTTPConnection(host, int(port), timeout=10)) as connection:
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                return answer, answer.read()

        return server, ask

    yield start
    for server, log in opened:
        server.stop()
        server.close()
        log.close()


def test_a_photo_gets_its_verdict_and_its_record(served, photo, tmp_path):
    _, ask = served()
    content = photo(tmp_path / "a.png", 150).read_bytes()
    answer, body = ask("POST", "/inspect?name=a.png&part=7&lot=A", content)
    row = json.loads(body)
    assert (answer.status, row["verdict"], row["score"], row["part"], row["lot"]) == (200, "review", 150.0, "7", "A")
    answer, body = ask("POST", "/inspect?map=png", content)
    assert (answer.headers["Content-Type"], answer.headers["X-Loupe-Verdict"]) == ("image/png", "review")
    assert body.startswith(b"\x89PNG")
    with AuditLog.open() as log:
        recorded = [entry.facts for entry in log.entries(kind=INSPECTION)]
    assert [(facts["name"], facts["verdict"], facts["source"]) for facts in recorded] == [
        ("a.png", "review", "http"),
        ("photo", "review", "http"),
    ]


def test_a_photo_sent_twice_under_one_key_is_recorded_once(served, photo, tmp_path):
    _, ask = served()
    content = photo(tmp_path / "a.png", 50).read_bytes()
    for _ in range(2):
        assert json.loads(ask("POST", "/inspect?key=part-7", content)[1])["verdict"] == "accept"
    with AuditLog.open() as log:
        assert len(list(log.entries(kind=INSPECTION))) == 1


def test_what_is_no_photo_is_not_judged(served):
    _, ask = served()
    answer, body = ask("POST", "/inspect?name=x.png", b"no photo at all")
    row = json.loads(body)
    assert (answer.status, row["verdict"], row["score"]) == (200, "not judged", None)
    assert row["reason"]


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("POST", "/inspect", None, {}, 411),
        ("POST", "/elsewhere", b"x", {}, 404),
        ("GET", "/recipe.json", None, {}, 404),
        ("POST", "/inspect", b"x", {"Content-Length": "99999999999"}, 413),
    ],
)
def test_what_it_does_not_serve_is_refused_in_words(served, method, path, body, headers, status):
    _, ask = served()
    answer, content = ask(method, path, body, **headers)
    assert answer.status == status
    assert json.loads(content)["error"]


def test_a_token_is_asked_of_everybody_but_for_health(served, photo, tmp_path):
    _, ask = served("of the plant")
    content = photo(tmp_path / "a.png", 50).read_bytes()
    assert ask("GET", "/health")[0].status == 200
    assert ask("GET", "/release")[0].status == 401
    assert ask("POST", "/inspect", content)[0].status == 401
    assert ask("POST", "/inspect", content, Authorization="Bearer wrong")[0].status == 401
    assert ask("POST", "/inspect", content, Authorization="Bearer of the plant")[0].status == 200
    assert json.loads(ask("GET", "/release", Authorization="Bearer of the plant")[1])["product"] == "tile"


def test_other_machines_are_served_only_with_a_token(monkeypatch):
    monkeypatch.delenv(TOKEN, raising=False)
    with AuditLog.open() as log, pytest.raises(ValueError, match=TOKEN):
        HttpInspection(ByBrightness(), AuditRecord(log, ByBrightness(), "line"), "0.0.0.0", 0)
