"""How many examples a property test tries: all where CI asks for it, few at a desk."""

import os

AT_A_DESK = 20


def examples(count: int) -> int:
    """Return the count with CI=true, at most AT_A_DESK otherwise."""
    return count if os.environ.get("CI") == "true" else min(count, AT_A_DESK)
