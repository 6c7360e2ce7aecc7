"""One network, in this process, for processes of this machine that prepare and judge the photos.

A GPU waits for Python: reading, placing and judging hold its lock. So they go to processes without torch
(`network_client`), which ask this one only what the network and the detectors say. Pictures come through shared memory,
the rest over a local connection. Requests that came while the GPU was busy are computed together.
"""

import json
import queue
import secrets
import struct
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener
from multiprocessing.shared_memory import SharedMemory
from typing import Protocol

import numpy as np

from inspect_core.sharding.network_client import EMBEDDING, GONE, REQUEST, WITH_HEAD, Hello, NetworkAddress

Outputs = tuple[np.ndarray, ...]


class Network(Protocol):
    """What is served: a `recipe.LoadedRecipe`."""

    @property
    def at_once(self) -> int: ...

    def compute_errors(
        self, pictures: Sequence[np.ndarray], wholes: Sequence[np.ndarray] | None = None
    ) -> tuple[np.ndarray, ...]: ...

    def embed(self, picture: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class _Request:
    """pictures, wholes: (n, h, w, 3) uint8, views of the client's shared memory until `answer` is set."""

    kind: int
    pictures: np.ndarray
    wholes: np.ndarray
    answer: Future[Outputs]


class NetworkServer:
    """Serves a network until it is closed. address: what a client needs to reach it."""

    def __init__(self, network: Network) -> None:
        key = secrets.token_bytes(32)
        self._listener = Listener(authkey=key)
        self.address = NetworkAddress(str(self._listener.address), key)
        self._network = network
        self._closed = False
        self._asking = threading.Lock()
        self._requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        for work in (self._admit, self._compute):
            threading.Thread(target=work, name="loupe-network", daemon=True).start()

    def close(self) -> None:
        """Answer what was asked so far, and tell clients that ask from now on that the network is gone."""
        with self._asking:
            self._closed = True
            self._requests.put(None)
        self._listener.close()

    def _admit(self) -> None:
        while not self._closed:
            try:
                connection = self._listener.accept()
            except (OSError, EOFError, AuthenticationError):  # closed, a client that was killed as it came, a stranger
                continue
            threading.Thread(target=self._serve, args=(connection,), name="loupe-network", daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        """Answer one client, in whose place it makes the shared memory: one that is killed leaves none behind."""
        with connection, suppress(EOFError, OSError):
            hello = Hello(**json.loads(connection.recv_bytes()))
            block = SharedMemory(create=True, size=hello.bytes)
            try:
                connection.send_bytes(block.name.encode())
                while True:
                    self._answer(connection, block, hello)
            finally:
                block.close()
                block.unlink()

    def _answer(self, connection: Connection, block: SharedMemory, hello: Hello) -> None:
        kind, count = struct.unpack(REQUEST, connection.recv_bytes())
        pictures, wholes = hello.views(block.buf, kind, count)
        request = _Request(kind, pictures, wholes, Future())
        with self._asking:
            if self._closed:
                request.answer.set_exception(OSError(GONE))
            else:
                self._requests.put(request)
        try:
            outputs = request.answer.result()
        except Exception as error:  # whatever a network raises is for the client to tell
            connection.send_bytes(json.dumps({"error": str(error) or type(error).__name__}).encode())
            return
        connection.send_bytes(json.dumps({"shapes": [output.shape for output in outputs]}).encode())
        for output in outputs:
            connection.send_bytes(np.ascontiguousarray(output, np.float32).data.cast("B"))

    def _compute(self) -> None:
        """Answer requests one after the other, those that fit one batch of the network together."""
        following: _Request | None = None
        while (request := following or self._requests.get()) is not None:
            together, following = self._with_waiting(request)
            try:
                outputs = self._outputs(together)
            except Exception as error:  # whatever a network raises is for the clients to tell
                for failed in together:
                    failed.answer.set_exception(error)
                continue
            first = 0
            for answered in together:
                last = first + len(answered.pictures)
                answered.answer.set_result(tuple(output[first:last] for output in outputs))
                first = last

    def _with_waiting(self, request: _Request) -> tuple[list[_Request], _Request | None]:
        """The request with those that wait and fit its batch, and the first that does not fit."""
        together, count = [request], len(request.pictures)
        while True:
            try:
                following = self._requests.get_nowait()
            except queue.Empty:
                return together, None
            if following is None:  # the end, after what was asked before
                self._requests.put(None)
                return together, None
            count += len(following.pictures)
            if following.kind != request.kind or count > self._network.at_once:
                return together, following
            together.append(following)

    def _outputs(self, together: Sequence[_Request]) -> Outputs:
        pictures = [picture for request in together for picture in request.pictures]
        if together[0].kind == EMBEDDING:
            return (np.stack([self._network.embed(picture) for picture in pictures]),)
        if together[0].kind != WITH_HEAD:
            return self._network.compute_errors(pictures)
        return self._network.compute_errors(pictures, [whole for request in together for whole in request.wholes])
