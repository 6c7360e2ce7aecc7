"""A worker process: requests on its standard input, results on its standard output, as frames of length and bytes.

A request is a JSON text {"task", "shared": [digest, ...]}, then one frame for every shared content that this worker
does not have yet, then the payload. An answer is one byte, then one frame: a result, or a reason. The process ends when
its input ends.
"""

import os
import sys
import warnings
from typing import BinaryIO

LENGTH = 8
DONE, FAILED, REFUSED = b"d", b"f", b"r"
KEPT = 8
"""Number of shared contents that a worker holds, those used last."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
"""Environment of a worker: one core each, and one order for every sum."""


def write(stream: BinaryIO, content: bytes) -> None:
    """Write one frame."""
    stream.write(len(content).to_bytes(LENGTH, "little"))
    stream.write(content)


def read(stream: BinaryIO) -> bytes:
    """Read one frame. Raises EOFError when the other side has ended."""
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
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    warnings.simplefilter("ignore")
    # Imported after the environment is set and the answers have their own file.
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
        except Exception as error:  # whatever it is, the client decides what to do
            sign, content = FAILED, (str(error) or type(error).__name__).encode("utf-8", "backslashreplace")
        answers.write(sign)
        write(answers, content)
        answers.flush()


if __name__ == "__main__":
    os.environ.update(ONE_THREAD)
    main()
