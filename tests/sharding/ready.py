"""Tasks for workers, in a module that loads nothing else."""

import os
import signal
import sys
import time

from inspect_core.sharding import processes


class Ready:
    """A task that returns what it is given, unless that is bad, deadly or slow."""

    def __call__(self, payload):
        if payload == "bad":
            raise OSError("it cannot be read")
        if payload == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        if payload == "slow":
            time.sleep(60)
        return payload, [os.environ[name] for name in processes.ONE_THREAD]


class LoadedModules:
    """A task that opens a recipe and returns the names of all modules that are loaded then."""

    def __init__(self, opening):
        self.opening = opening

    def __call__(self, payload):
        self.opening()
        return sorted({name.split(".")[0] for name in sys.modules})
