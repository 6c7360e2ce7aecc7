"""Photos inspected over HTTP: POST /inspect with a photo, GET /health and /release.

One process, one photo at a time; bodies are bounded by what a photo may be. Off this machine it serves only who has the
token. Every photo is in the audit log before its answer.
"""

import hmac
import json
import os
import secrets
import threading
from collections.abc import Mapping
from dataclasses import asdict, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qs, urlsplit

from inspect_core.images.decode_memory import FILE_PER_PIXEL, NOTES, max_megapixels
from inspect_core.images.photo_reader import ImageError, read_bytes
from inspect_core.inspection import Inspection
from inspect_core.line.inspector import Inspector
from inspect_core.line.map_folder import render_map_files
from inspect_core.line.photo_inspection import uninspected_row
from inspect_core.line.record import Record, key_of
from inspect_core.runtime.program_log import log_unexpected
from inspect_core.runtime.wording import escape_line

SOURCE = "http"
"""Of what is recorded here (`Inspection.source`)."""
TOKEN = "LOUPE_HTTP_TOKEN"
HEATMAP = ".png"
IDLE_SECONDS = 30


class HttpInspection:
    """A server for one recipe. trial: as `batch.run` takes it.

    Raises ValueError for an address off this machine without a token, OSError for a port that cannot be used.
    """

    def __init__(self, inspector: Inspector, record: Record, host: str, port: int, *, trial: bool = False) -> None:
        self._inspector, self._record, self._trial = inspector, record, trial
        self._token = os.environ.get(TOKEN, "")
        self._one_at_a_time = threading.Lock()
        if not self._token and not _is_here(host):
            raise ValueError(f"{host} can be reached from other machines; set {TOKEN}, which they then have to send")
        self.most_bytes = int(max_megapixels() * 1e6 * FILE_PER_PIXEL) + NOTES
        self._server = ThreadingHTTPServer((host, port), _handler_of(self))
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host}:{port}"

    def run(self) -> None:
        """Serve until `close`, or an interrupt."""
        self._server.serve_forever()

    def close(self) -> None:
        self._server.server_close()

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._server.shutdown()

    def admits(self, authorization: str) -> bool:
        """Whether a request has the token, as `Bearer TOKEN`, where there is one."""
        return not self._token or hmac.compare_digest(authorization.encode(), f"Bearer {self._token}".encode())

    def facts(self) -> dict[str, Any]:
        """What is in force."""
        inspector = self._inspector
        limits = {"review": inspector.limits.review, "reject": inspector.limits.reject}
        return {
            "product": inspector.product,
            "recipe": inspector.digest,
            "release": inspector.release,
            "engine": inspector.engine,
            **limits,
        }

    def inspect(self, content: bytes, asked: Mapping[str, str]) -> tuple[Inspection, bytes | None]:
        """The recorded row of a photo, and its heatmap as PNG where `map` is asked for. asked: `name`, `part`, `lot`.

        Raises OSError when it cannot be recorded.
        """
        name = escape_line(asked.get("name") or "photo")[:200]
        row, picture = uninspected_row(self._inspector, name), None
        try:
            photo = read_bytes(content, name, self._inspector.depth)
            row = replace(row, digest=photo.digest)
            with self._one_at_a_time:
                verdict = self._inspector.judge(*self._inspector.compute([self._inspector.prepare(photo.pixels)]))
            row = row.with_verdict(verdict, photo.digest, self._inspector.good_scores)
            if asked.get("map"):
                picture = render_map_files(photo.pixels, verdict, row.review, [HEATMAP])[HEATMAP]
        except ImageError as error:
            row = replace(row, reason=f"{error.reason}; {error.remedy}")
        except Exception as error:  # whatever a part of the inspector raises
            row = replace(row, reason=f"{error} ({log_unexpected(error, f'inspecting {name}')})")
        part, lot = (escape_line(asked.get(word, ""))[:200] for word in ("part", "lot"))
        row = replace(row, part=part, lot=lot, source=SOURCE, trial=self._trial)
        key = key_of(SOURCE, row.release or row.recipe, row.digest, asked.get("key") or secrets.token_hex(8))
        return self._record.append(key, row), picture


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _handler_of(server: HttpInspection) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "Loupe", ""
        protocol_version = "HTTP/1.1"
        timeout = IDLE_SECONDS

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if path == "/health":
                self._answer(HTTPStatus.OK, {"state": "ready"})
            elif not server.admits(self.headers.get("Authorization", "")):
                self._refuse(HTTPStatus.UNAUTHORIZED, "send the token as `Authorization: Bearer TOKEN`")
            elif path == "/release":
                self._answer(HTTPStatus.OK, server.facts())
            else:
                self._refuse(HTTPStatus.NOT_FOUND, "there are /inspect, /health and /release")

        def do_POST(self) -> None:
            url = urlsplit(self.path)
            length = self.headers.get("Content-Length", "")
            if not server.admits(self.headers.get("Authorization", "")):
                self._refuse(HTTPStatus.UNAUTHORIZED, "send the token as `Authorization: Bearer TOKEN`")
            elif url.path != "/inspect":
                self._refuse(HTTPStatus.NOT_FOUND, "photos go to /inspect")
            elif not (length.isascii() and length.isdigit() and int(length)):
                self._refuse(HTTPStatus.LENGTH_REQUIRED, "send one photo as the body, with its Content-Length")
            elif int(length) > server.most_bytes:
                self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a photo has at most {server.most_bytes} bytes")
            else:
                self._inspect(
                    self.rfile.read(int(length)), {name: values[-1] for name, values in parse_qs(url.query).items()}
                )

        def _inspect(self, content: bytes, asked: Mapping[str, str]) -> None:
            try:
                row, picture = server.inspect(content, asked)
            except OSError as error:
                self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, f"the verdict cannot be recorded ({error})")
                return
            if picture is not None and asked.get("map") == "png":
                headers = {
                    "X-Loupe-Verdict": row.verdict,
                    "X-Loupe-Score": "" if row.score is None else f"{row.score:.6g}",
                }
                self._send(HTTPStatus.OK, "image/png", picture, headers)
                return
            self._answer(HTTPStatus.OK, asdict(row))

        def _answer(self, status: HTTPStatus, facts: Mapping[str, Any]) -> None:
            self._send(status, "application/json", json.dumps(facts).encode(), {})

        def _refuse(self, status: HTTPStatus, words: str) -> None:
            self.close_connection = True  # its body is not read
            self._answer(status, {"error": words})

        def _send(self, status: HTTPStatus, kind: str, content: bytes, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": f"{len(content)}", **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing: verdicts are in the audit log, errors in that of the program."""

    return Handler
