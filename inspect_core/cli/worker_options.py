"""What processes the photos of a verb: this process, processes on this machine, or a cluster."""

import argparse
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from inspect_core.cli.console import path_argument, print_line
from inspect_core.sharding import worker_selection
from inspect_core.sharding.executor import Executor

if TYPE_CHECKING:
    from inspect_core.study.study_tasks import Workers


def add_options(parser: argparse.ArgumentParser) -> None:
    processes = "use N processes on this machine"
    parser.add_argument("--workers", type=int, metavar="N", help=processes)
    cluster = (
        "use the workers of a Dask scheduler: tcp://127.0.0.1:8786, or tls://HOST:8786 with certificates; it has 15 "
        "s to answer. Anyone who can reach a scheduler can run code on it (docs/CLUSTER.md)"
    )
    parser.add_argument("--cluster", metavar="ADDRESS", help=cluster)
    for name, words in (("ca", "authority"), ("cert", "certificate"), ("key", "key")):
        parser.add_argument(f"--tls-{name}", type=path_argument, metavar="FILE", help=f"with --cluster: the {words}")


@contextmanager
def workers(options: argparse.Namespace) -> Generator[Executor | None]:
    """The workers that the options ask for, None for this process; print them. Errors as `worker_selection`."""
    certificates = worker_selection.certificates_of(options.tls_ca, options.tls_cert, options.tls_key)
    with worker_selection.workers(options.workers, options.cluster, certificates) as executor:
        if executor is not None:
            print_line(f"Running on {executor.words}.")
        yield executor


@contextmanager
def study_workers(options: argparse.Namespace) -> Generator["Workers"]:
    """As `workers`, for a study, with the weights file that the options name."""
    # Imported where it is used: an exported recipe is inspected without torch.
    from inspect_core.sharding.study_workers import OnWorkers
    from inspect_core.study.study_tasks import IN_PROCESS

    with workers(options) as executor:
        yield IN_PROCESS if executor is None else OnWorkers(executor, options.weights)
