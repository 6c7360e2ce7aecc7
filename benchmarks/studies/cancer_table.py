"""The cancer table of Hoffmann, "Kernel PCA for novelty detection" (2007)."""

import csv
from pathlib import Path

import numpy as np

CANCER_TABLE = Path(__file__).parents[1] / "data" / "wisconsin_breast_cancer.csv"


def cancer(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(train (200, 9), test (483, 9), malignant (483,)): complete rows, unit deviation over all rows, noise of ±0.05.

    The paper's figure needs the deviation of all 683 rows; a product must take it from the training rows.
    """
    with CANCER_TABLE.open(newline="") as file:
        rows = [row for row in csv.reader(file)][1:]
    complete = [row for row in rows if all(row)]
    values = np.array([[float(v) for v in row[:-1]] for row in complete])
    malignant = np.array([row[-1] == "malignant" for row in complete])
    values = values / values.std(axis=0)
    values += np.random.default_rng(seed).uniform(-0.05, 0.05, values.shape)
    benign = np.flatnonzero(~malignant)
    test = np.concatenate([benign[200:], np.flatnonzero(malignant)])
    return values[benign[:200]], values[test], malignant[test]
