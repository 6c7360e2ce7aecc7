"""A worker process: requests by its standard input, results by its standard output, both as lengths and bytes.

A request is a JSON text {"task", "shared": [digest, ...]}, then one frame for every shared content that this worker has
not had yet, then the payload. An answer is one byte, then one frame: a result, or a reason. It ends with its input.
"""

import os
import sys
import warnings
from typing import BinaryIO

LENGTH = 8
DONE, FAILED, REFUSED = b"d", b"f", b"r"
KEPT = 8
"""Shared contents that a worker holds: those of the latest requests."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
"""Environment of a worker: it has one core, and a sum has one order."""


def write(stream: BinaryIO, content: bytes) -> None:
    """One frame."""
    stream.write(len(content).to_bytes(LENGTH, "little"))
    stream.write(content)


def read(stream: BinaryIO) -> bytes:
    """One frame. Raises EOFError when the other side has ended."""
    length = stream.read(LENGTH)
    if len(length) < LENGTH:
        raise EOFError
    content = stream.read(size := int.from_bytes(length, "little"))
    if len(content) < size:
        raise EOFError
    return content


def main() -> None:
    """Answer requests until the input ends."""
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    warnings.simplefilter("ignore")
    # Imported once the environment is set and the answers are safe.
    import json

    from inspect_core.sharding.tasks import Refused, perform

    held: dict[str, bytes] = {}
    while True:
        try:
            request = json.loads(read(asked))
            for digest in request["shared"]:
                held[digest] = held.pop(digest) if digest in held else read(asked)
            payload = read(asked)
        except EOFError:
            return
        for digest in list(held)[: max(len(held) - KEPT, 0)]:
            del held[digest]
        try:
            sign, content = DONE, perform(request["task"], payload, [held[digest] for digest in request["shared"]])
        except Refused as error:
            sign, content = REFUSED, str(error).encode()
        except Exception as error:  # whatever it is, the one who asks decides what follows
            sign, content = FAILED, (str(error) or type(error).__name__).encode("utf-8", "backslashreplace")
        answers.write(sign)
        write(answers, content)
        answers.flush()


if __name__ == "__main__":
    os.environ.update(ONE_THREAD)
    main()
