"""The log of the program: errors that nobody expected, with their traceback, in `log/loupe.log` of the workspace.

LOUPE_LOG sets the level ("DEBUG" … "ERROR", by default "WARNING"), or "off". The audit log is another thing: it says
what was inspected and decided.
"""

import functools
import logging
import os
import secrets
from logging.handlers import RotatingFileHandler
from pathlib import Path

from inspect_core.runtime import workspace

LEVEL_VARIABLE = "LOUPE_LOG"
OFF = "OFF"
MAX_BYTES, FORMER_FILES = 1 << 20, 3
"""Of one file, and how many former ones are kept."""
_FORMAT = "%(asctime)s %(levelname)s %(process)d %(threadName)s %(message)s"


def log_file() -> Path:
    """Where the log of this workspace lies."""
    return workspace.root() / "log" / "loupe.log"


def log_unexpected(error: BaseException, subject: str) -> str:
    """Write an error with its traceback; its id in the log, as a user is told it: "error 1f2e3d4c".

    subject: what was being done. A log that cannot be written is no reason to fail.
    """
    number = secrets.token_hex(4)
    logger = _logger(log_file(), os.environ.get(LEVEL_VARIABLE, "WARNING").upper())
    if logger.handlers:
        logger.error("error %s while %s", number, subject, exc_info=error)
    return f"error {number}"


@functools.cache
def _logger(path: Path, level: str) -> logging.Logger:
    """The logger of a workspace at a level; without a handler where it is off, or its folder cannot be made."""
    logger = logging.Logger(f"loupe {path}")
    if level == OFF:
        return logger
    logger.setLevel(level if level in logging.getLevelNamesMapping() else logging.WARNING)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = _QuietHandler(path, maxBytes=MAX_BYTES, backupCount=FORMER_FILES, encoding="utf-8", delay=True)
    except OSError:
        return logger
    handler.setFormatter(logging.Formatter(_FORMAT))
    logger.addHandler(handler)
    return logger


class _QuietHandler(RotatingFileHandler):
    """Writes nothing where it cannot: a full disk is told by what was to be saved there."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Pass over an entry that cannot be written."""
