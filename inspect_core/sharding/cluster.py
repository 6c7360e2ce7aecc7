"""The workers of a Dask scheduler that is already running, reached only over loopback or TLS.

Dask's own messages are pickles: anyone who can reach a scheduler can run any code on it, on its workers and on its
clients. Loupe starts neither; it connects to the address it is given, and sends pickles of its own dataclasses.
"""

import ipaddress
import logging
import pickle
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Any
from urllib.parse import urlsplit

from inspect_core.sharding.executor import (
    WORKER_KILLED,
    Failure,
    Numbered,
    Refused,
    Task,
    check_stamp,
    environment_stamp,
    perform,
)

RECONNECT_SECONDS = 60.0
"""Seconds that a lost scheduler has to come back, or a first worker to join."""
ANSWER = 15.0
"""Seconds that a scheduler has to answer when it is connected to."""
TASKS_PER_WORKER = 2
"""Tasks submitted per worker: the next one is sent while it works on the first."""


@dataclass(frozen=True)
class Certificates:
    """Files of TLS: of the authority that both sides trust, and the certificate and key of this side."""

    ca: Path
    cert: Path
    key: Path


class Cluster:
    """The workers of the scheduler at `address`, such as tls://scheduler:8786 or tcp://127.0.0.1:8786.

    Raises ValueError for an address that is neither TLS nor loopback, for a worker with another version of Loupe or
    more than one thread, and where Dask is not installed; OSError when no scheduler answers or no worker joins.
    """

    def __init__(self, address: str, certificates: Certificates | None = None) -> None:
        self.address = validate_address(address, certificates)
        self._certificates = certificates
        self._client = self._connected()
        try:
            self._check_workers()
        except BaseException:
            self.close()
            raise

    @property
    def words(self) -> str:
        return f"{self.workers} workers of {self.address}, dashboard {self._client.dashboard_link}"

    @property
    def workers(self) -> int:
        return max(len(self._workers()), 1)

    @property
    def _is_there(self) -> bool:
        return self._client.status == "running"

    def map(self, task: Task, payloads: Iterable[Numbered]) -> Iterator[Numbered]:
        """As `Executor.map`. A dead worker is replaced; a scheduler back in RECONNECT_SECONDS gets the open tasks."""
        source = iter(payloads)
        content = pickle.dumps(task)
        waiting: dict[int, tuple[Any, Any]] = {}
        finished: Queue[tuple[int, Any]] = Queue()
        sent = self._client.scatter(content, hash=True)  # each worker fetches it once

        def submit(number: int, payload: Any) -> None:
            future = self._client.submit(perform, environment_stamp(), sent, payload, pure=False)
            results = finished
            future.add_done_callback(lambda ended: results.put((number, ended)))
            waiting[number] = payload, future

        try:
            while True:
                while self._is_there and len(waiting) < TASKS_PER_WORKER * self.workers:
                    if (following := next(source, None)) is None:
                        break
                    submit(*following)
                if not waiting and self._is_there:
                    return
                number, future = 0, None
                with suppress(Empty):
                    number, future = finished.get(timeout=1.0)
                if future is not None and future.status in ("finished", "error"):
                    payload, _ = waiting.pop(number)
                    try:
                        result = _result(future)
                    except OSError:  # the result was lost with its worker or the scheduler
                        submit(number, payload)
                    else:
                        yield number, result
                elif future is not None or not self._is_there:
                    self._come_back()
                    sent = self._client.scatter(content, hash=True)
                    finished = Queue()
                    for number, (payload, _) in list(waiting.items()):
                        submit(number, payload)
        finally:
            if waiting:  # every client is told of what is cancelled
                with suppress(Exception):  # in whatever state the connection is, nobody waits for these
                    self._client.cancel([future for _, future in waiting.values()], force=True)

    def require(self, memory: int) -> None:
        """As `Executor.require`, compared with the memory limit that each worker was started with."""
        for address, facts in self._workers().items():
            if 0 < facts["memory_limit"] < memory:
                raise ValueError(
                    f"a worker needs {memory / 1e9:.1f} GB of memory, and {address} was started with "
                    f"{facts['memory_limit'] / 1e9:.1f}; start it with a larger --memory-limit"
                )

    def close(self) -> None:
        """Disconnect; the scheduler continues."""
        with suppress(Exception):  # it may be gone
            self._client.close(timeout=5)

    def _connected(self) -> Any:
        try:
            from distributed import Client, Security
        except ImportError as error:
            raise ValueError(
                "Dask is not installed here; run: pip install -r requirements-cluster.txt, or use --workers"
            ) from error
        security = None
        if (certificates := self._certificates) is not None:
            files = {
                "tls_ca_file": str(certificates.ca),
                "tls_client_cert": str(certificates.cert),
                "tls_client_key": str(certificates.key),
            }
            security = Security(**files, require_encryption=True)
        for name in ("distributed", "tornado"):  # what they log of a connection is said below, in one line
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        until = time.monotonic() + ANSWER
        while True:
            client = Client.__new__(Client)
            asked = {"security": security, "timeout": ANSWER, "set_as_default": False}
            try:
                _within(ANSWER, lambda client=client, asked=asked: Client.__init__(client, self.address, **asked))
                return client
            except AssertionError:  # Dask's own: what another client cancelled came with the scheduler's greeting
                client.close(timeout=ANSWER)
                if time.monotonic() > until:
                    raise
            except Exception as error:  # whatever Dask makes of a greeting that is no scheduler's
                client.status = "closed"  # else Dask waits for it once more when Python ends
                raise OSError(
                    f"no scheduler answers at {self.address} within {ANSWER:.0f} s "
                    f"({str(error) or type(error).__name__}); start one with dask scheduler, and check address and "
                    "certificates"
                ) from error

    def _workers(self) -> dict[str, dict[str, Any]]:
        return self._client.scheduler_info(n_workers=-1)["workers"]

    def _check_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=RECONNECT_SECONDS)
        except TimeoutError as error:
            raise OSError(
                f"no worker has joined the scheduler at {self.address}; start one with dask worker"
            ) from error
        for address, facts in self._workers().items():
            if facts["nthreads"] != 1:
                raise ValueError(f"{address} has {facts['nthreads']} threads; start dask worker with --nthreads 1")
        for address, worker_stamp in self._client.run(check_stamp, environment_stamp(), on_error="return").items():
            if isinstance(worker_stamp, Exception):
                raise ValueError(f"{address} cannot be used: {worker_stamp}; install Loupe there: pip install .")

    def _come_back(self) -> None:
        """Connect again to a scheduler that was restarted. Raises OSError if it was not."""
        self.close()
        until = time.monotonic() + RECONNECT_SECONDS
        while True:
            try:
                self._client = self._connected()
                break
            except OSError as error:
                if time.monotonic() > until:
                    raise OSError(
                        f"lost the connection to the scheduler at {self.address}; restart it and its workers, then "
                        "run the same command again to resume from the finished shards"
                    ) from error
                time.sleep(1)
        self._check_workers()


def validate_address(address: str, certificates: Certificates | None) -> str:
    """The address with its protocol. Raises ValueError unless TLS with certificates or TCP to this machine."""
    full = address if "://" in address else f"{'tls' if certificates else 'tcp'}://{address}"
    parts = urlsplit(full)
    if parts.scheme == "tls" and parts.hostname and certificates is not None:
        return full
    if parts.scheme == "tcp" and parts.hostname and _is_loopback(parts.hostname) and certificates is None:
        return full
    raise ValueError(
        f"cluster is {address!r}; give tls://HOST:PORT with --tls-ca, --tls-cert and --tls-key, or, for a scheduler on "
        "this machine, tcp://127.0.0.1:PORT: anyone who can reach a scheduler without TLS can run code on every worker"
    )


def _within(seconds: float, work: Callable[[], object]) -> None:
    """Do it, or raise TimeoutError: Dask waits without end for a greeting that never comes. What is late is abandoned.

    Raises whatever the work raises.
    """
    done: Future[None] = Future()

    def tried() -> None:
        try:
            work()
            done.set_result(None)
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=tried, name="loupe-connecting", daemon=True).start()
    if not wait([done], timeout=seconds).done:
        raise TimeoutError("it responded, but not like a Dask scheduler")
    done.result()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _result(future: Any) -> Any:
    """The result of a finished future. Raises Refused, and OSError when the result was lost."""
    if future.status == "finished":
        return future.result(timeout=RECONNECT_SECONDS)
    error = future.exception()
    if isinstance(error, Refused):
        raise error
    if type(error).__name__ == "KilledWorker":
        return Failure(WORKER_KILLED)
    return Failure(str(error) or type(error).__name__)
