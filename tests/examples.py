"""What takes longer than a desk allows: all of it where CI asks for it, a part of it elsewhere."""

import os

THOROUGH = os.environ.get("CI") == "true"
AT_A_DESK = 20


def examples(count: int) -> int:
    """The count with CI=true, at most AT_A_DESK otherwise."""
    return count if THOROUGH else min(count, AT_A_DESK)
