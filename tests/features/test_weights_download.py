"""Weights fetched from a server on this machine: whole and checked, or not at all; and imported from a file."""

import hashlib
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
import safetensors.torch
import torch
from huggingface_hub import constants
from torch import nn

from inspect_core.features import weights_download
from inspect_core.features.backbone_catalogue import CATALOGUE, TORCHVISION
from inspect_core.features.weights_download import download_apart, download_weights, import_weights
from inspect_core.features.weights_files import find_weights
from inspect_core.runtime.progress import Cancelled

HUB = "/timm/net/resolve/main/model.safetensors"


def small(size: tuple[int, int] = (8, 8)) -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))


TENSORS = {name: value.contiguous() for name, value in small().state_dict().items()}
CONTENT = safetensors.torch.save(TENSORS)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Server:
    """files: content by path; digest: what it states; sent: how much of a file it sends before it hangs up; asked: the
    paths that were asked for; address: its own.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    digest: str = DIGEST
    sent: int | None = None
    asked: list[str] = field(default_factory=list)
    address: str = ""


class Handler(BaseHTTPRequestHandler):
    def __init__(self, server: Server, *arguments):
        self.facts = server
        super().__init__(*arguments)

    def log_message(self, *_):
        pass

    def _content(self) -> bytes | None:
        return self.facts.files.get(self.path.replace("c" * 40, "main"))

    def do_HEAD(self):
        self.facts.asked.append(self.path)
        content = self._content()
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.send_header("ETag", f'"{self.facts.digest}"')
        self.send_header("X-Repo-Commit", "c" * 40)
        self.end_headers()

    def do_GET(self):
        content = self._content()
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content if self.facts.sent is None else content[: self.facts.sent])
        self.close_connection = True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server on loopback, which the Hub's loader takes for the Hub."""
    facts = Server({"/net.safetensors": CONTENT, HUB: CONTENT})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, facts)) as listening:
        facts.address = f"http://127.0.0.1:{listening.server_port}"
        monkeypatch.setattr(constants, "ENDPOINT", facts.address)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{facts.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        )
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield facts
        listening.shutdown()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOUPE_WEIGHTS", str(tmp_path / "weights"))
    return tmp_path / "weights"


@pytest.fixture(params=[TORCHVISION, "timm/net"])
def spec(request, server, monkeypatch):
    """A small network that torchvision's loader or the Hub's fetches from the server."""
    url = f"{server.address}/net.safetensors"
    published = SimpleNamespace(url=url, meta={"_file_size": 0.001})
    monkeypatch.setattr(weights_download.BackboneSpec, "published_weights", lambda self: published)
    name = "net" if request.param == TORCHVISION else "timm:net"
    return replace(
        CATALOGUE["resnet18"], name=name, build=small, file="net.safetensors", sha256=DIGEST[:8], source=request.param
    )


def test_what_is_fetched_is_whole_and_where_it_belongs(spec, folder):
    path = download_weights(spec)
    assert path == folder / "net.safetensors" == find_weights(spec)
    assert path.read_bytes() == CONTENT
    assert [entry.name for entry in folder.iterdir()] == ["net.safetensors"]


def fails(spec, folder: Path) -> str:
    with pytest.raises(ValueError, match=r"fetch the file net\.safetensors elsewhere and put it into") as caught:
        download_weights(spec)
    assert [*folder.iterdir()] == [], "nothing of it stays"
    return str(caught.value)


def test_another_content_than_stated_is_refused(spec, folder, server):
    server.files = dict.fromkeys(server.files, CONTENT[:-1] + b"!")
    assert DIGEST[:8] in fails(spec, folder)


@pytest.mark.usefixtures("unhurried")
def test_a_file_that_breaks_off_is_refused(spec, folder, server):
    server.sent = len(CONTENT) // 2
    assert "check the connection and try again" in fails(spec, folder)


def test_a_file_that_is_not_there_is_named(spec, folder, server):
    server.files = {}
    assert "404" in fails(spec, folder)


def test_without_a_connection_it_says_what_to_do(spec, folder, server):
    server.files = {}
    broken = SimpleNamespace(url="http://127.0.0.1:9/net.safetensors", meta={"_file_size": 0.001})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weights_download.BackboneSpec, "published_weights", lambda self: broken)
        patch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
        assert "check the connection and try again" in fails(spec, folder)


@pytest.mark.parametrize("stops", [False, True])
def test_a_process_of_its_own_tells_how_far_it_is_and_ends(stops, folder, monkeypatch, tmp_path):
    """The process is a stand-in that writes slowly: what is tested is how it is watched, ended and cleaned up after."""
    spec = replace(CATALOGUE["resnet18"], source="timm/net", file="net.pth", name="timm:net")
    stand_in = tmp_path / "stand_in.py"
    stand_in.write_text(
        "import os, pathlib, sys, time\n"
        "folder = pathlib.Path(os.environ['LOUPE_WEIGHTS'])\n"
        "(folder / '.net.pth-1').mkdir(parents=True)\n"
        "part = folder / '.net.pth-1' / 'part'\n"
        "part.write_bytes(bytes(50_000_000))\n"
        f"time.sleep({30 if stops else 1})\n"
        "part.rename(folder / 'net.pth')\n"
    )
    monkeypatch.setattr(weights_download, "COMMAND", (sys.executable, str(stand_in)))
    reports = []

    def report(share: float, step: str) -> None:
        reports.append((share, step))
        if stops and share > 0.4:
            raise Cancelled

    if stops:
        with pytest.raises(Cancelled):
            download_apart(spec, report)
        assert [*folder.iterdir()] == []
        assert "50 of 100 MB" in {step for _, step in reports}  # the other may end before it is looked at
    else:
        assert download_apart(spec, report) == folder / "net.pth"


def test_what_the_process_says_last_is_the_reason(folder, monkeypatch):
    script = "import sys; print('Note: slow', file=sys.stderr); sys.exit('loupe: the server says no')"
    monkeypatch.setattr(weights_download, "COMMAND", (sys.executable, "-c", script))
    folder.mkdir()
    with pytest.raises(ValueError, match=r"^the server says no$"):
        download_apart(replace(CATALOGUE["resnet18"], source="timm/net"), lambda *_: None)


def test_an_imported_file_must_be_that_of_the_network(spec, folder):
    with pytest.raises(ValueError, match="expected"):
        import_weights(spec, CONTENT + b" ")
    other = replace(spec, sha256="")
    wrong = safetensors.torch.save({"0.weight": torch.zeros(1)})
    with pytest.raises(ValueError, match="does not match the network"):
        import_weights(other, wrong)
    assert [*folder.iterdir()] == []
    assert import_weights(spec, CONTENT).read_bytes() == CONTENT
