"""Which workers a user chose: none, processes on this machine, or a cluster."""

from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec

from inspect_core.sharding.cluster import Certificates, Cluster
from inspect_core.sharding.executor import Executor
from inspect_core.sharding.processes import Processes


@contextmanager
def workers(
    count: int | None = None, cluster: str | None = None, certificates: Certificates | None = None
) -> Generator[Executor | None]:
    """`count` processes here, the workers of a Dask scheduler, or None for neither; stopped, or left, at the end.

    Raises ValueError for both at once, certificates without a cluster, and as `Processes` and `Cluster`.
    """
    if count is not None and cluster is not None:
        raise ValueError("workers on this machine and a cluster are not used together; give one of the two")
    if certificates is not None and cluster is None:
        raise ValueError("certificates go with a cluster; name its address too")
    if (count is not None or cluster is not None) and find_spec("torch") is None:
        raise ValueError("workers need all that the app needs; run: pip install -r requirements.txt")
    executor: Executor | None = None
    if count is not None:
        executor = Processes(count)
    elif cluster is not None:
        executor = Cluster(cluster, certificates)
    try:
        yield executor
    finally:
        if executor is not None:
            executor.close()
