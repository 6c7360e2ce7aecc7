"""A Dask cluster: the real engine, on loopback, with the bits of the plain path."""

import os
import signal
import socket
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import pytest

from inspect_core.line.batch import Outputs, photos_of, run
from inspect_core.recipe import LoadedRecipe
from inspect_core.recipe_io.recipe_file import save
from inspect_core.sharding import cluster
from inspect_core.sharding.cluster import Certificates, Cluster, validate_address
from inspect_core.sharding.executor import Refused
from inspect_core.sharding.inspection_tasks import WorkerBatchInspector, opening_of
from inspect_core.sharding.study_workers import OnWorkers
from inspect_core.sharding.worker_selection import workers
from tests.sharding.conftest import Started, bits

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
FRAMES = (16).to_bytes(8, "little") + 2 * (1 << 60).to_bytes(8, "little")
CERTIFICATES = Certificates(Path("ca.pem"), Path("cert.pem"), Path("key.pem"))
with_dask = pytest.mark.usefixtures("dask")


@pytest.fixture(scope="module")
def dask():
    return pytest.importorskip("distributed", reason="Dask is not installed: pip install -r requirements-cluster.txt")


@pytest.fixture(scope="module")
def started(dask, shared_workspace, tmp_path_factory):
    """A scheduler and two workers, each started by hand."""
    cluster = Started(shared_workspace, tmp_path_factory.mktemp("dask"))
    cluster.scheduler()
    for _ in range(2):
        cluster.worker()
    yield cluster
    cluster.stop()


@with_dask
def test_two_manual_workers_give_the_bits_of_one_process(study_of, started, plain, small_shards, product, tmp_path):
    """Inspect; fit while a worker is killed; and again while the scheduler is, and is started anew."""
    with workers(cluster=started.address) as executor:
        executor._client.wait_for_workers(2, timeout=30)
        assert "2 workers of tcp://127.0.0.1" in executor.words
        assert "dashboard http://127.0.0.1" in executor.words
        recipe = save(plain.recipe(), tmp_path / "recipe.zip")
        inspector = LoadedRecipe(recipe, plain.extractor.backbone)
        photos = photos_of([product / "test"])
        rows = [
            [
                asdict(row) | {"time": "", "milliseconds": 0}
                for row in run(inspector, photos, Outputs(), judging=judging)
            ]
            for judging in (None, WorkerBatchInspector(executor, opening_of(inspector, tmp_path / "recipe.zip")))
        ]
        assert rows[0] == rows[1]
        killed = []

        def kill(fraction: float, step: str) -> None:
            if "learning:" in step and not killed:
                killed.append(started.processes[-1].pid)
                os.kill(killed[0], signal.SIGKILL)

        assert bits(study_of(OnWorkers(executor)).fit(kill)) == bits(plain)
        assert killed

        def kill_all(fraction: float, step: str) -> None:
            if "learning:" in step and len(killed) == 1:
                killed.append(0)
                started.stop()
                started.scheduler()
                started.worker()

        assert bits(study_of(OnWorkers(executor)).fit(kill_all)) == bits(plain)
        assert len(killed) == 2


@pytest.mark.usefixtures("unhurried")
@with_dask
@pytest.mark.slow
def test_another_version_or_too_little_memory_is_refused(started, monkeypatch):
    with workers(cluster=started.address) as executor:
        with pytest.raises(ValueError, match=r"started with 8\.0; start it with a larger --memory-limit"):
            executor.require(10**10)
        monkeypatch.setattr(cluster, "environment_stamp", lambda: {"torch": "1"})
        with pytest.raises(Refused, match="instead of 1"):
            list(executor.map(str, [(0, b"")]))
        with pytest.raises(ValueError, match="install the same versions on every machine,"):
            Cluster(started.address)


@pytest.mark.usefixtures("unhurried")
@with_dask
def test_a_run_that_ends_elsewhere_keeps_nobody_from_connecting(started, monkeypatch):
    """Dask asserts that the scheduler's greeting comes alone; what another client cancels may come with it."""
    from distributed import Client

    connect, refused = Client._ensure_connected, []

    async def once_refused(client, timeout=None):
        if not refused:
            refused.append(client)
            raise AssertionError
        await connect(client, timeout)

    monkeypatch.setattr(Client, "_ensure_connected", once_refused)
    cluster = Cluster(started.address)
    cluster.close()
    assert refused


@with_dask
def test_where_no_scheduler_is_the_address_is_named(monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER", 0.5)
    with pytest.raises(OSError, match=r"no scheduler answers at tcp://127\.0\.0\.1:9"):
        Cluster("127.0.0.1:9")


@pytest.mark.parametrize(
    ("address", "certificates", "full"),
    [
        ("127.0.0.1:8786", None, "tcp://127.0.0.1:8786"),
        ("tcp://localhost:8786", None, "tcp://localhost:8786"),
        ("tcp://[::1]:8786", None, "tcp://[::1]:8786"),
        ("tls://10.0.0.2:8786", CERTIFICATES, "tls://10.0.0.2:8786"),
        ("plant:8786", CERTIFICATES, "tls://plant:8786"),
    ],
)
def test_loopback_and_tls_are_taken(address, certificates, full):
    assert validate_address(address, certificates) == full


@pytest.mark.parametrize(
    ("address", "certificates"),
    [
        *((address, None) for address in ("10.0.0.2:8786", "tls://10.0.0.2:8786", "tcp://0.0.0.0:8786", "")),
        *((address, None) for address in ("tcp://localhost.example:8786", "tcp://127.0.0.1.example:8786")),
        *((address, None) for address in ("ws://127.0.0.1:8786", "inproc://127.0.0.1")),
        *((address, CERTIFICATES) for address in ("tcp://10.0.0.2:8786", "tls://")),
    ],
)
def test_any_other_way_is_refused(address, certificates):
    with pytest.raises(ValueError, match="--tls-ca, --tls-cert and --tls-key"):
        validate_address(address, certificates)


def test_processes_and_a_cluster_are_not_mixed():
    with pytest.raises(ValueError, match="cannot be used together"), workers(2, "127.0.0.1:8786"):
        pass
    with pytest.raises(ValueError, match="are for a cluster"), workers(2, None, CERTIFICATES):
        pass
    with workers() as none:
        assert none is None


@with_dask
@pytest.mark.slow
@pytest.mark.parametrize(
    "greeting", [b"", (2**62).to_bytes(8, "little"), FRAMES], ids=["nothing", "an endless message", "endless frames"]
)
def test_what_answers_with_no_greeting_is_named_within_the_time(greeting, monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER", 1.5)
    connections = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            with suppress(OSError):  # closed at the end
                while True:
                    connections.append(server.accept()[0])
                    connections[-1].sendall(greeting)

        threading.Thread(target=greet, daemon=True).start()
        began = time.monotonic()
        with pytest.raises(OSError, match=r"no scheduler answers at tcp://127.0.0.1:\d+ within 2 s .* dask scheduler"):
            Cluster(f"tcp://127.0.0.1:{server.getsockname()[1]}")
        assert time.monotonic() - began < 30
    for connection in connections:
        connection.close()
