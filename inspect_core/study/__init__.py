"""Photos, their stored features and one fit, from which parameters and limits move live."""

from inspect_core.study.study import Study
