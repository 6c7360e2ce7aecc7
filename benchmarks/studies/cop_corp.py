"""CoP and CoRP against nearest neighbour, PCA, MSP, energy, ReAct and BATS, alone and fused; r, γ, M; kernel and map.

python -m benchmarks.studies.cop_corp

After Fang et al., "Kernel PCA for out-of-distribution detection" (2024). In place of CIFAR-10 and ImageNet: 8 x 8
digits with one class held out in turn, on 128 hidden features of a small net; and embeddings of crops by Lite0 with
one sample part held out in turn, a linear head having learned the places of the others.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go
import torch
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from torch import Tensor

from benchmarks.measure import sets, timed
from benchmarks.studies import exact_kernel, ood_scores
from benchmarks.studies.common import area, line, panels, run
from benchmarks.studies.crops import PLACES, Crops, crops_of
from inspect_core.detectors import baselines, cop_corp, kernel_pca
from inspect_core.detectors.cop_corp import KernelPCAMap, covariance
from inspect_core.scoring.metrics import fpr95_of_foreign

RATIOS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
GAMMAS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
WIDTHS = (128, 256, 512, 1024, 2048)
R, GAMMA, M = 0.95, 2.0, 1024


@dataclass(frozen=True, eq=False)
class Case:
    """Features of a net (n, m) to learn from, and to judge (t, m), of which `foreign` (t,) are of no class it knows.

    weight (classes, m), bias (classes,): of its last layer.
    """

    learned: np.ndarray
    test: np.ndarray
    foreign: np.ndarray
    weight: np.ndarray
    bias: np.ndarray

    def quality(self, errors: Tensor) -> dict[str, float]:
        """AUROC, and the share of foreign rows accepted when 95 % of the others are; errors: higher is more foreign."""
        errors = errors.double().numpy()
        return {
            "auroc": area(errors, self.foreign),
            "fpr95": fpr95_of_foreign(errors[~self.foreign], errors[self.foreign]),
        }


def digits(options: argparse.Namespace) -> list[Case]:
    """Each digit held out in turn, one net of 128 units for each and seed."""
    x, y = load_digits(return_X_y=True)
    x, cases = x / 16.0, []
    for seed in range(1 if options.quick else 3):
        for foreign in range(10):
            known = np.random.default_rng(seed).permutation(np.flatnonzero(y != foreign))
            train, rest = known[: len(known) * 2 // 3], known[len(known) * 2 // 3 :]
            test = np.concatenate([rest, np.flatnonzero(y == foreign)])
            net = MLPClassifier((128,), max_iter=300, random_state=seed).fit(x[train], y[train])
            hidden = [np.maximum(x[rows] @ net.coefs_[0] + net.intercepts_[0], 0.0) for rows in (train, test)]
            cases.append(Case(*hidden, y[test] == foreign, net.coefs_[1].T, net.intercepts_[1]))
    return cases


def parts(options: argparse.Namespace) -> list[Case]:
    """Each sample part held out in turn: foreign are all its crops."""
    crops = {name: crops_of(folder) for name, folder in sets([]).items()}
    others = [[part for key, part in crops.items() if key != foreign] for foreign in crops]
    return [_headed(part, _rows(strange.test)) for part, strange in zip(others, crops.values(), strict=True)]


def defects(options: argparse.Namespace) -> list[Case]:
    """Foreign are the crops of one part with a defect on them; the head has learned all parts."""
    crops = [crops_of(folder) for folder in sets([]).values()]
    return [_headed(crops, part.defects) for part in crops]


def _headed(known: list[Crops], foreign: np.ndarray) -> Case:
    learned, good = (np.concatenate([_rows(getattr(part, which)) for part in known]) for which in ("learned", "test"))
    y = np.concatenate([PLACES * i + np.tile(np.arange(PLACES), len(part.learned)) for i, part in enumerate(known)])
    head = LogisticRegression(C=0.1, max_iter=200).fit(learned, y)
    strange = np.arange(len(good) + len(foreign)) >= len(good)
    return Case(learned, np.concatenate([good, foreign]), strange, head.coef_, head.intercept_)


def _rows(crops: np.ndarray) -> np.ndarray:
    return crops.reshape(-1, crops.shape[-1]).astype(np.float64)


SETS: dict[str, Callable[[argparse.Namespace], list[Case]]] = {"digits": digits, "parts": parts, "defects": defects}


def contest(options: argparse.Namespace) -> dict:
    """By set and detector: AUROC and FPR95, means over the cases, and the standard deviation of the AUROC among them;
    settings r = .95, γ = 2, M = 1,024 throughout.
    """
    results = {}
    for name, make in SETS.items():
        repeats = [_contest(case) for case in make(options)]
        results[name] = {
            row: {key: float(np.mean([scores[row][key] for scores in repeats])) for key in repeats[0][row]}
            | {"auroc_sd": float(np.std([scores[row]["auroc"] for scores in repeats]))}
            for row in repeats[0]
        }
    return results


def _contest(case: Case) -> dict[str, dict[str, float]]:
    learned, test = (torch.from_numpy(rows) for rows in (case.learned, case.test))
    clip = float(np.quantile(case.learned, 0.9))
    mean = learned.mean(0)
    sd = learned.std(0)
    clippings: dict[str, Callable[[Tensor], Tensor]] = {
        "MSP": lambda z: z,
        "energy": lambda z: z,
        "ReAct": lambda z: ood_scores.react_clip(z, clip=clip),
        "BATS": lambda z: ood_scores.bats_clip(z, mean, sd),
    }
    unclipped = _subspaces(learned)
    plain = baselines.fit_pca(learned)
    errors = {
        "nearest neighbour": baselines.fit_nearest_neighbour_unit(learned).score(test),
        "PCA": plain.score(test, explained_variance=R),
        "regularised PCA": ood_scores.regularised_error(plain.score(test, explained_variance=R), test),
    }
    errors |= {name: model.score(test) for name, model in unclipped.items()}
    for name, clipped in clippings.items():
        subspaces = _subspaces(clipped(learned)) if name in ("ReAct", "BATS") else unclipped
        of_net = [_of_net(case, clipped(rows), name) for rows in (learned, test)]
        errors[name] = -of_net[1]
        smallest = min(0.0, float(of_net[0].min()))
        of_pca = baselines.fit_pca(clipped(learned)).score(clipped(test), explained_variance=R)
        regularised = ood_scores.regularised_error(of_pca, clipped(test))
        errors[f"regularised PCA + {name}"] = -ood_scores.fuse(regularised, of_net[1], smallest=smallest)
        for title, model in subspaces.items():
            errors[f"{title} + {name}"] = -ood_scores.fuse(model.score(clipped(test)), of_net[1], smallest=smallest)
    return {name: case.quality(subspaces) for name, subspaces in errors.items()}


def _subspaces(learned: Tensor) -> dict[str, KernelPCAMap]:
    return {
        "CoP": cop_corp.fit_cop(learned, explained_variance=R),
        "CoRP": cop_corp.fit_corp(learned, gamma=GAMMA, M=M, explained_variance=R),
    }


def _of_net(case: Case, z: Tensor, score: str) -> Tensor:
    logits = z @ torch.from_numpy(case.weight).T + torch.from_numpy(case.bias)
    return ood_scores.msp(logits) if score == "MSP" else ood_scores.energy(logits)


def curves(options: argparse.Namespace) -> dict:
    """Mean AUROC over the cases of a set against r, against γ with and without the cosine map, and against M."""
    results: dict[str, dict] = {"r": list(RATIOS), "gamma": list(GAMMAS), "M": list(WIDTHS)}
    for name, make in SETS.items():
        repeats = [_curves(case) for case in make(options)[: 3 if options.quick else 10]]
        results[name] = {key: np.mean([values[key] for values in repeats], axis=0).tolist() for key in repeats[0]}
    return results


def _curves(case: Case) -> dict[str, list[float]]:
    cop = cop_corp.fit_cop(case.learned)
    width = case.learned.shape[1]
    corp = cop_corp.fit_corp(case.learned, gamma=GAMMA, M=M)

    def of(cosine: bool, gamma: float, M: int) -> float:
        drawn = replace(cop_corp.cosine_fourier_map(width, gamma=gamma, M=M), cosine=cosine)
        model = covariance.fit(case.learned, drawn, explained_variance=R)
        return area(model.score(case.test), case.foreign)

    # Without the cosine the kernel sees lengths: γ is in units of the mean squared length.
    length = float(np.square(case.learned).sum(axis=1).mean())
    return {
        "CoP, r": [area(cop.score(case.test, explained_variance=r), case.foreign) for r in RATIOS],
        "CoRP, r": [area(corp.score(case.test, explained_variance=r), case.foreign) for r in RATIOS],
        "with cosine, γ": [of(True, gamma, M) for gamma in GAMMAS],
        "without cosine, γ": [of(False, gamma / length, M) for gamma in GAMMAS],
        "CoRP, M": [of(True, GAMMA, width) for width in WIDTHS],
    }


def kernel_and_map(options: argparse.Namespace) -> dict:
    """The exact Gaussian kernel against its explicit map by M, on one held-out digit: errors, FPR95, ms of all rows."""
    case = digits(argparse.Namespace(quick=True))[0]
    q = 60
    exact = exact_kernel.cosine_gaussian_kernel_error(case.learned, case.test, gamma=GAMMA, q=q)
    unit = [cop_corp.cosine(torch.from_numpy(rows)) for rows in (case.learned, case.test)]
    model = kernel_pca.fit(unit[0], sigma=(2.0 * GAMMA) ** -0.5, q=q)
    row = {"ms": timed(lambda: model.score(unit[1]))["median_ms"], **case.quality(exact)}
    results = {"rows": len(case.test), "learned": len(case.learned), "q": q, "exact": row}
    for width in WIDTHS:
        corp = cop_corp.fit_corp(case.learned, gamma=GAMMA, M=width)
        error = corp.score(case.test, q=q)
        results[str(width)] = {
            "ms": timed(lambda: corp.score(case.test, q=q))["median_ms"],  # noqa: B023 - called at once
            "median_relative_error": float(((error - exact).abs() / exact).median()),
            "rank_correlation": float(spearmanr(error, exact).statistic),
            **case.quality(error),
        }
    return results


FORM_RATIOS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)


def kernel_forms(_: argparse.Namespace) -> dict:
    """By share of variance: FPR95 of the error by equation 9 as printed, by the exact form, and of CoRP; γ = 2, means
    over ten digits held out in turn.
    """
    runs = [_forms(case) for case in digits(argparse.Namespace(quick=True))]
    return {"r": list(FORM_RATIOS)} | {name: np.mean([run[name] for run in runs], axis=0).tolist() for name in runs[0]}


def _forms(case: Case) -> dict[str, list[float]]:
    corp = cop_corp.fit_corp(case.learned, gamma=GAMMA, M=M)
    unit = [cop_corp.cosine(torch.from_numpy(rows).double()) for rows in (case.learned, case.test)]
    exact = kernel_pca.fit(unit[0], sigma=(2.0 * GAMMA) ** -0.5)
    shares = exact.eigenvalues.cumsum(0) / exact.eigenvalues.sum()
    kernel = torch.exp(-GAMMA * torch.cdist(unit[0], unit[0]) ** 2)
    of_test = torch.exp(-GAMMA * torch.cdist(unit[1], unit[0]) ** 2)
    values, vectors = torch.linalg.eigh(kernel)
    printed_shares = values.flip(0).clamp(min=0).cumsum(0) / values.clamp(min=0).sum()
    rows: dict[str, list[float]] = {"equation 9": [], "exact": [], "CoRP": []}
    for r in FORM_RATIOS:
        count = int((printed_shares < r).sum()) + 1
        rows["equation 9"].append(case.quality((of_test @ vectors[:, : len(values) - count]).norm(dim=1))["fpr95"])
        q = min(int((shares < r).sum()) + 1, exact.rank)
        rows["exact"].append(case.quality(exact.sweep(unit[1], [q])[0].clamp(min=0).sqrt())["fpr95"])
        rows["CoRP"].append(case.quality(corp.score(case.test, explained_variance=r))["fpr95"])
    return rows


def answer_times(options: argparse.Namespace) -> dict:
    """By number of rows to learn from: ms a sample of nearest neighbour and CoRP, for 100 samples of 512 features."""
    results = {}
    for n in (1_000, 10_000) if options.quick else (1_000, 10_000, 100_000):
        learned, test = (torch.randn(rows, 512, generator=torch.Generator().manual_seed(n)) for rows in (n, 100))
        models = {
            "nearest neighbour": baselines.fit_nearest_neighbour_unit(learned),
            "CoRP": cop_corp.fit_corp(learned[:10_000], gamma=GAMMA, M=M),
        }
        results[str(n)] = {
            name: timed(lambda: model.score(test))["median_ms"] / 100  # noqa: B023 - called at once
            for name, model in models.items()
        }
    return results


def approximation_decay(_: argparse.Namespace, m: int = 20, gamma: float = 1.0) -> dict:
    """Mean error of the approximated kernel against 1/√(2M), and CoRP's error against the exact kernel's."""
    rng = np.random.default_rng(0)
    deviations = 1.0 / np.arange(1, m + 1)
    x, z = rng.standard_normal((300, m)) * deviations, rng.standard_normal((200, m)) * deviations
    unit = cop_corp.cosine(torch.from_numpy(x))
    kernel = torch.exp(-gamma * torch.cdist(unit, unit) ** 2)
    w0, u = cop_corp.draw(m, 4096, seed=0)
    exact = exact_kernel.cosine_gaussian_kernel_error(x, z, gamma=gamma, q=20)
    figures = {}
    for M in (64, 128, 256, 1024, 4096):
        mapped = cop_corp.random_fourier(unit, w0[:M], u[:M], gamma=gamma)
        error = cop_corp.fit_corp(x, gamma=gamma, M=M, seed=0).score(z, q=20)
        figures[str(M)] = {
            "mean_kernel_error": float((mapped @ mapped.T - kernel).abs().mean()),
            "one_over_root_2M": (2.0 * M) ** -0.5,
            "largest_relative_error_difference": float(((error - exact).abs() / exact).max()),
            "rank_correlation_with_exact": float(spearmanr(error, exact).statistic),
        }
    return figures


def exact_identities(_: argparse.Namespace) -> dict:
    """Largest differences of quantities that are equal in exact arithmetic, and the printed form that is not."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((120, 12)) * np.linspace(0.2, 2.0, 12)
    z = rng.standard_normal((60, 12))
    explicit = cop_corp.fit_cop(x).sweep(z, range(1, 12))
    exact = torch.stack([exact_kernel.cosine_kernel_error(x, z, q=q) for q in range(1, 12)])
    pca = baselines.fit_pca(x).sweep(z, range(1, 12)).square()
    linear = kernel_pca.fit_linear(x).sweep(z, range(1, 12))
    printed = exact_kernel.proposition_2_as_printed(x, z, q=4)
    return {
        "cosine_kernel_against_cop": float((exact - explicit).abs().max()),
        "linear_kernel_against_pca": float((linear - pca).abs().max()),
        "rank_correlation_of_printed_form": float(spearmanr(printed, explicit[3]).statistic),
    }


def digits_order(_: argparse.Namespace, seeds: int = 3) -> dict:
    """Mean AUROC of foreign digits (6 to 9) against test digits 0 to 5, on 128 hidden features of a small network."""
    x, y = load_digits(return_X_y=True)
    x = x / 16.0
    rows = [_digits_scores(x, y, seed) for seed in range(seeds)]
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def _digits_scores(x: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    known = np.random.default_rng(seed).permutation(np.flatnonzero(y <= 5))
    train, held_out = known[: len(known) * 2 // 3], known[len(known) * 2 // 3 :]
    test = np.concatenate([held_out, np.flatnonzero(y > 5)])
    foreign = y[test] > 5
    network = MLPClassifier((128,), max_iter=300, random_state=seed).fit(x[train], y[train])
    weights, offsets = network.coefs_, network.intercepts_
    fit_z, z = (np.maximum(x[rows] @ weights[0] + offsets[0], 0.0) for rows in (train, test))
    logits = z @ weights[1] + offsets[1]
    cop = cop_corp.fit_cop(fit_z)
    corp = cop_corp.fit_corp(fit_z, gamma=2.0, M=1024, seed=seed)
    plain = baselines.fit_pca(fit_z)
    energy = ood_scores.energy(logits)
    smallest = min(0.0, float(ood_scores.energy(fit_z @ weights[1] + offsets[1]).min()))
    error = cop.score(z, explained_variance=0.95)
    plain_error = plain.score(z, explained_variance=0.95)
    without_cosine = {
        f"fourier_without_cosine_gamma_{gamma}": area(
            covariance.fit(
                fit_z,
                replace(cop_corp.cosine_fourier_map(fit_z.shape[-1], gamma=gamma, M=1024, seed=seed), cosine=False),
                explained_variance=0.95,
            ).score(z),
            foreign,
        )
        for gamma in (0.01, 0.1, 0.5, 1.0, 2.0)
    }
    return {
        "nearest_neighbour_unit": area(baselines.fit_nearest_neighbour_unit(fit_z).score(z), foreign),
        "cop_95_with_energy": area(-ood_scores.fuse(error, energy, smallest=smallest), foreign),
        "energy": area(-energy, foreign),
        "corp_gamma_2_95": area(corp.score(z, explained_variance=0.95), foreign),
        "msp": area(-ood_scores.msp(logits), foreign),
        "cop_95": area(error, foreign),
        "regularised_pca_95": area(ood_scores.regularised_error(plain_error, z), foreign),
        "pca_95": area(plain_error, foreign),
        "cop_30": area(cop.score(z, explained_variance=0.3), foreign),
    } | without_cosine


def draw(figures: dict) -> go.Figure:
    """AUROC against r, γ and M by set."""
    titles = [f"{name}: {what}" for what in ("AUROC against r", "against γ", "against M") for name in SETS]
    shown = panels(3, len(SETS), titles, height=950, vertical_spacing=0.09, horizontal_spacing=0.06)
    rows = {"r": ("CoP, r", "CoRP, r"), "gamma": ("with cosine, γ", "without cosine, γ"), "M": ("CoRP, M",)}
    for column, name in enumerate(SETS, start=1):
        for row, (parameter, lines) in enumerate(rows.items(), start=1):
            for number, title in enumerate(lines):
                curves_of = figures["curves"]
                line(
                    shown,
                    curves_of[parameter],
                    curves_of[name][title],
                    title,
                    2 * (row - 1) + number,
                    (row, column),
                    first=column == 1,
                )
            knn = figures["contest"][name]["nearest neighbour"]["auroc"]
            shown.add_hline(y=knn, line_dash="dot", line_width=1, row=row, col=column)
            if row > 1:
                shown.update_xaxes(type="log", row=row, col=column)
            if name == "parts":
                shown.update_yaxes(range=[0.5, 1.02], row=row, col=column)
    return shown


PARTS: dict[str, Callable[[argparse.Namespace], dict]] = {
    "approximation_decay": approximation_decay,
    "exact_identities": exact_identities,
    "digits_order": digits_order,
    "contest": contest,
    "curves": curves,
    "kernel_and_map": kernel_and_map,
    "kernel_forms": kernel_forms,
    "answer_times": answer_times,
}


def main() -> None:
    run("cop_corp", __doc__, PARTS, draw)


if __name__ == "__main__":
    main()
