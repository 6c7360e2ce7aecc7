"""Streamlit, in which the sample part of the first start is small and has one detector: it is taught in seconds.

Defect types are learned by small forests, no photos of other parts are asked about, maps have few points, an
alignment is tried on few photos and not before teaching, and what is to be taught is forecast for the network of the
sample part.
"""

import sys
from dataclasses import replace
from functools import partial

from streamlit.web.cli import main

from inspect_core.classify.kernel_density import fit_kdf
from inspect_core.tuning import aligning
from inspect_core.ui import teaching
from inspect_core.ui.explore import jobs
from inspect_core.ui.teach import photo_settings
from inspect_core.whole_part import type_training

forecast = teaching.forecast

teaching.Order = partial(teaching.Order, size=(128, 128), grid=(16, 16))
teaching.FIXED = "mahalanobis"
jobs.PATCHES = 500
aligning.MOST_TRIED = 4
photo_settings._gain = lambda key, good: None
teaching.forecast = lambda order, *others: forecast(replace(order, size=(128, 128)), *others)
teaching.samples = lambda: (teaching.FIRST_SAMPLE,)
type_training.FITS[type_training.FOREST] = partial(fit_kdf, trees=50)

if __name__ == "__main__":
    sys.exit(main())
