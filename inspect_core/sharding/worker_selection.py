"""Which workers a user chose: none, processes on this machine, or a cluster."""

import os
from collections.abc import Generator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

from inspect_core.runtime.memory import total_bytes
from inspect_core.sharding.cluster import Certificates, Cluster
from inspect_core.sharding.executor import IDLE_WORKER_BYTES, Executor
from inspect_core.sharding.processes import Processes

FEW_CORES = 4
"""Beyond these, threads of one process wait for Python's lock, and processes judge more photos a second."""
MANY_PHOTOS = 500
"""From so many on, what a process saves is more than its start takes."""


def worthwhile_processes() -> int:
    """Processes on this machine that judge many photos soonest: one a core, as far as half of the memory goes; 1 where
    there are few cores or no torch.
    """
    count = os.cpu_count() or 1
    if count <= FEW_CORES or find_spec("torch") is None:
        return 1
    memory = total_bytes()
    return count if memory is None else max(1, min(count, memory // (2 * IDLE_WORKER_BYTES)))


def read_cluster_settings() -> tuple[str | None, Certificates | None]:
    """LOUPE_CLUSTER's scheduler, None without it, and the files of LOUPE_TLS_CA, _CERT and _KEY.

    Raises ValueError when only some of the three are set.
    """
    files = [os.environ.get(f"LOUPE_TLS_{name}") for name in ("CA", "CERT", "KEY")]
    return os.environ.get("LOUPE_CLUSTER") or None, certificates_of(*(Path(file) if file else None for file in files))


def certificates_of(ca: Path | None, cert: Path | None, key: Path | None) -> Certificates | None:
    """None without any of the three. Raises ValueError when only some are given."""
    if ca is None or cert is None or key is None:
        if (ca, cert, key) == (None, None, None):
            return None
        raise ValueError(
            "certificates must be complete: provide all three of --tls-ca, --tls-cert and --tls-key, or "
            "LOUPE_TLS_CA, LOUPE_TLS_CERT and LOUPE_TLS_KEY"
        )
    return Certificates(ca, cert, key)


@contextmanager
def workers(
    count: int | None = None, cluster: str | None = None, certificates: Certificates | None = None
) -> Generator[Executor | None]:
    """`count` processes on this machine, the workers of a Dask scheduler, or None for neither.

    At the end processes are stopped; a scheduler and its workers continue.

    Raises ValueError for both at once, for certificates without a cluster, and as `Processes` and `Cluster` do.
    """
    if count is not None and cluster is not None:
        raise ValueError("workers on this machine and a cluster cannot be used together; give one of the two")
    if certificates is not None and cluster is None:
        raise ValueError("certificates are for a cluster; give its address too")
    if count is None and cluster is None:
        yield None
        return
    if find_spec("torch") is None:
        raise ValueError("workers need the same packages as the app; run: pip install -r requirements.txt")
    executor: Executor = Processes(count) if count is not None else Cluster(cluster or "", certificates)
    with closing(executor):
        yield executor
