"""Streamlit, in which the sample part of the first start is small and has one detector: it is taught in seconds.

Defect types are learned by small forests, no photos of other parts are asked about, maps have few points, and what is
to be taught is forecast for the network of the sample part.
"""

import sys
from dataclasses import replace
from functools import partial

from streamlit.web.cli import main

from inspect_core.classify.kernel_density import fit_kdf
from inspect_core.ui import teaching_job
from inspect_core.ui.explore import explore_jobs
from inspect_core.whole_part import defect_type_training

plan_of = teaching_job.plan_of

teaching_job.SAMPLE_CHOICES |= {"method": "mahalanobis", "size": (128, 128), "grid": (16, 16)}
explore_jobs.PATCHES = 500
teaching_job.plan_of = lambda order, *others: plan_of(replace(order, size=(128, 128)), *others)
teaching_job.samples = lambda: (teaching_job.FIRST_SAMPLE,)
defect_type_training.FITS[defect_type_training.FOREST] = partial(fit_kdf, trees=50)

if __name__ == "__main__":
    sys.exit(main())
