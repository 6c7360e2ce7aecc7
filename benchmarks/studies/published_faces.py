"""Identification of faces with robustified similarities, on what the quadrics' authors publish with their code.

python -m benchmarks.studies.published_faces [--data FOLDER]

After Pavutnitskiy et al. (2022), Tables 2 and 5: 1,009 ArcFace embeddings of CPLFW, 200 distractors, and the scores of
the paper's quadrics for both. A similarity counts where both scores are below t, else it is 0.
"""

import argparse
from collections.abc import Callable

import numpy as np

from benchmarks.studies.common import run
from inspect_core.scoring.identification import identification_rate

RATES = {"1e-3": 1e-3, "1e-4": 1e-4, "1e-5": 1e-5}
PAPER_T = 0.033
"""Table 5, of Q-FULL."""
QUANTILE = 0.99
SWEPT = np.linspace(0.9, 1, 201)
"""Quantiles of a score among which the best threshold is sought."""


def _faces(options: argparse.Namespace) -> tuple[np.ndarray, ...]:
    """Unit embeddings (n, d) and persons (n,), distractors (m, d); of both the lengths and the quadrics' scores."""
    names = ("embeddings", "labels", "distractors", "cplfw_quadrics_features", "megaface_quadrics_features")
    faces, persons, strangers, *scores = (np.load(options.data / f"faces/{name}.npy") for name in names)
    lengths = [np.linalg.norm(rows.astype(np.float64), axis=1) for rows in (faces, strangers)]
    unit = [rows / length[:, None] for rows, length in zip((faces, strangers), lengths, strict=True)]
    return unit[0], persons, unit[1], *lengths, *scores


class Robust:
    """Rates of the faces with similarities that count up to a threshold of an outlier score."""

    def __init__(self, faces: np.ndarray, persons: np.ndarray, strangers: np.ndarray, *scores: np.ndarray):
        self.persons = persons
        self.among, self.strange = faces @ faces.T, faces @ strangers.T
        self.scores = scores

    def rates(self, t: float, fpr: float) -> dict[str, float]:
        """IR and full IR at a false-positive rate, as the paper defines them."""
        known = [score < t for score in self.scores]
        among, strange = (
            np.where(known[0][:, None] & others, similarity, 0.0)
            for others, similarity in zip(known, (self.among, self.strange), strict=True)
        )
        full = identification_rate(among, self.persons, fpr=fpr, distractors=strange)
        return {"ir": identification_rate(among, self.persons, fpr=fpr), "full_ir": full}

    def by_published_routine(self, t: float, fpr: float) -> float:
        """IR by the authors' code: negative pairs of similarity 0 are left out, and a pair is to be above the limit."""
        known = self.scores[0] < t
        similarity = np.where(known[:, None] & known, self.among, 0.0)
        same, pairs = self.persons[:, None] == self.persons, np.triu(np.ones_like(self.among, bool), 1)
        others = np.sort(similarity[pairs & ~same & (similarity != 0)])[::-1]
        limit = others[round(fpr * len(others)) - 1]
        return float((similarity[pairs & same] > limit).mean())

    def best(self, fpr: float) -> dict[str, float]:
        """The threshold of the largest IR among quantiles of the score."""
        rate, t = max((self.rates(t, fpr)["ir"], t) for t in np.quantile(self.scores[0], SWEPT))
        return {"t": float(t), "ir": rate}


def rates(options: argparse.Namespace) -> dict:
    """By false-positive rate: IR and full IR without a score, at the paper's threshold and at a quantile of the scores;
    by the published routine too.
    """
    faces, persons, strangers, _, _, *scores = _faces(options)
    robust = Robust(faces, persons, strangers, *scores)
    thresholds = {"none": np.inf, "published threshold": PAPER_T}
    thresholds["0.99 quantile"] = float(np.quantile(scores[0], QUANTILE))
    results: dict[str, dict] = {
        name: {title: robust.rates(t, fpr) for title, t in thresholds.items()} for name, fpr in RATES.items()
    }
    routine = {title: robust.by_published_routine(t, RATES["1e-5"]) for title, t in thresholds.items()}
    return results | {"1e-5, published routine": routine}


def best(options: argparse.Namespace) -> dict:
    """At 1e-5: the best threshold of the quadrics' score, and of NORM, minus the length of an embedding."""
    faces, persons, strangers, length, of_strangers, *scores = _faces(options)
    norm = Robust(faces, persons, strangers, -length, -of_strangers)
    quadrics = Robust(faces, persons, strangers, *scores)
    return {"quadrics": quadrics.best(RATES["1e-5"]), "NORM": norm.best(RATES["1e-5"])}


PARTS: dict[str, Callable[[argparse.Namespace], dict]] = {"rates": rates, "best": best}


def main() -> None:
    run("published_faces", __doc__, PARTS, needs=dict.fromkeys(PARTS, "faces"))


if __name__ == "__main__":
    main()
