"""Streamlit, in which the sample part of the first start is small and has one detector: it is taught in seconds."""

import sys
from functools import partial

from streamlit.web.cli import main

from inspect_core.ui.teach import teaching

teaching.Order = partial(teaching.Order, size=(128, 128), grid=(16, 16), method="mahalanobis")

if __name__ == "__main__":
    sys.exit(main())
