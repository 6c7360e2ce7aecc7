"""Former name of `scoring`: `inspect_core.judge.metrics` and its siblings stay importable."""

import sys

from inspect_core import scoring

sys.modules[__name__] = scoring
