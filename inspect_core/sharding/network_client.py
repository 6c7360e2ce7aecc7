"""A recipe whose network runs in another process of this machine (`network_server`): everything else runs here.

Nothing in this module loads torch.
"""

import json
import struct
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import prod
from multiprocessing.connection import Client, Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from inspect_core.images.photo_reader import squash
from inspect_core.recipe_format.photo_inspector import PhotoInspector, PlacedPhoto, maps_of

ERRORS, WITH_HEAD, EMBEDDING = range(3)
"""What a request is for: errors on the patch grid; with embedding and logits; an embedding alone."""
REQUEST = "<BI"
"""A request: what it is for, and how many pictures lie in the shared memory."""
GONE = "the process that runs the network is gone; start the batch again to resume"
TOGETHER = 8
"""Photos of one request: while the network has these, the next are prepared."""


@dataclass(frozen=True)
class NetworkAddress:
    """Where a server listens, for who has its key."""

    address: str
    key: bytes


@dataclass(frozen=True)
class Hello:
    """What a client says first. picture, whole: (height, width) of what it will send, as of `PlacedPhoto`."""

    picture: tuple[int, int]
    whole: tuple[int, int]

    @property
    def apart(self) -> bool:
        """Whether whole photos are sent beside the pictures, which are in tiles."""
        return tuple(self.picture) != tuple(self.whole)

    @property
    def bytes(self) -> int:
        """Shared memory for one request."""
        return 3 * TOGETHER * (prod(self.picture) + (prod(self.whole) if self.apart else 0))

    def views(self, memory: Any, kind: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """(pictures, wholes) of a request in that memory, (n, h, w, 3) uint8; the same where they are not apart."""
        size = self.whole if kind == EMBEDDING else self.picture
        pictures = np.ndarray((count, *size, 3), np.uint8, memory)
        if kind != WITH_HEAD or not self.apart:
            return pictures, pictures
        return pictures, np.ndarray((count, *self.whole, 3), np.uint8, memory, pictures.nbytes)


class ServedRecipe(PhotoInspector):
    """An `Inspector` that asks a server what the network says. facts: of the recipe, as `recipe.Recipe.facts`.

    Raises OSError when the server is gone, ValueError with the network's words where it cannot answer.
    """

    engine = ""

    def __init__(self, address: NetworkAddress, facts: Mapping[str, Any]) -> None:
        super().__init__(**facts)
        self._address = address
        self._asking = threading.Lock()

    @property
    def at_once(self) -> int:
        return TOGETHER

    def compute_maps(self, photos: Sequence[PlacedPhoto], *, head: bool) -> list[Sequence[np.ndarray]]:
        pictures = [photo.picture for photo in photos]
        errors, *further = self._ask(WITH_HEAD if head else ERRORS, pictures, [photo.whole for photo in photos])
        return maps_of(errors, further, self.map_size)

    def embed(self, picture: np.ndarray) -> np.ndarray:
        [embeddings] = self._ask(EMBEDDING, [squash(picture, self.size)])
        return embeddings[0]

    @cached_property
    def _hello(self) -> Hello:
        return Hello(self.size if self.tiles is None else self.tiles.size, self.size)

    @cached_property
    def _served(self) -> tuple[Connection, SharedMemory]:
        connection = Client(self._address.address, authkey=self._address.key)
        connection.send_bytes(json.dumps(asdict(self._hello)).encode())
        return connection, SharedMemory(connection.recv_bytes().decode())

    def _ask(self, kind: int, pictures: Sequence[np.ndarray], wholes: Sequence[np.ndarray] = ()) -> list[np.ndarray]:
        try:
            with self._asking:
                return self._asked(kind, pictures, wholes)
        except (EOFError, OSError) as error:
            raise OSError(GONE) from error

    def _asked(self, kind: int, pictures: Sequence[np.ndarray], wholes: Sequence[np.ndarray]) -> list[np.ndarray]:
        connection, block = self._served
        sent, sent_wholes = self._hello.views(block.buf, kind, len(pictures))
        np.stack(pictures, out=sent)
        if sent_wholes is not sent:
            np.stack(wholes, out=sent_wholes)
        connection.send_bytes(struct.pack(REQUEST, kind, len(pictures)))
        answer = json.loads(connection.recv_bytes())
        if "error" in answer:
            raise ValueError(answer["error"])
        return [np.frombuffer(connection.recv_bytes(), np.float32).reshape(shape) for shape in answer["shapes"]]
