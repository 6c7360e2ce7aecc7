"""Drift seen before it costs: a lamp that loses a tenth of its light, and a lens that loses its focus, part by part.

From each folder the good photos of train/ are taught with the defaults of one detector. Then parts come by: good photos
of test/ that were not learned from, in random order, each photographed again (noise, a little light and shift). After
STEADY parts the station ages over AGEING parts. The signals of the log see every part; overkill is the share of good
parts rejected in a window of WINDOW parts about each.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from benchmarks.measure import machine, parser, sets, write
from benchmarks.studies.common import line, panels, picture
from inspect_core.datasets.dataset import GOOD, PhotoFile
from inspect_core.datasets.folders import scan
from inspect_core.datasets.splitting import Split, split_to_teach
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.images.tolerances import DEFAULT_TOLERANCES, CaptureVariation
from inspect_core.recipe import LoadedRecipe
from inspect_core.runtime import workspace
from inspect_core.runtime.ordered_pool import in_order
from inspect_core.spc.drift_signals import DriftSignals
from inspect_core.study.study import Study
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.verdict import Verdict

STEADY, AGEING, WINDOW, TAUGHT = 300, 1000, 100, 100
LIGHT_LOST, BLUR = 0.1, 1.5
"""Share of the light, and standard deviation of the blur in pixels of the network's picture, when a part has aged."""


def aged(fault: str, age: float, rng: np.random.Generator) -> CaptureVariation:
    """How a part is photographed when the station has aged that far, 0 to 1."""
    light = rng.normal(1.0, 0.005) * (1 - LIGHT_LOST * age * (fault == "lamp"))
    right, down = rng.uniform(-0.5, 0.5, 2)
    return CaptureVariation(noise=1.0, light=light, right=right, down=down, focus=BLUR * age * (fault == "lens"))


def parts(photos: list[PhotoFile], fault: str, seed: int) -> Iterator[tuple[PhotoFile, CaptureVariation, int]]:
    rng = np.random.default_rng(seed)
    for number in range(STEADY + AGEING):
        age = max(0, number - STEADY) / AGEING
        yield photos[rng.integers(len(photos))], aged(fault, age, rng), int(rng.integers(2**31))


def run_of(inspector: LoadedRecipe, photos: list[PhotoFile], fault: str, seed: int) -> dict:
    """Verdicts and alarms of one run of parts."""
    extractor = inspector.extractor

    def judged(item: tuple[PhotoFile, CaptureVariation, int]) -> Verdict:
        sample, camera, photo_seed = item
        photo = read(sample.path, sample.depth).pixels
        image = extractor.network_input(photo, extractor.place(photo))
        return inspector.inspect(camera.apply(image, photo.shape[:2], np.random.default_rng(photo_seed)))

    signals = DriftSignals(inspector.good_scores.tolist())
    rejected = []
    alarms = []
    for number, verdict in enumerate(in_order(judged, parts(photos, fault, seed))):
        rejected.append(verdict.verdict == "reject")
        inputs = {name: value for name, value in vars(verdict.inputs).items() if value is not None}
        raised = signals.add(verdict.score, rejected=rejected[-1], inputs=inputs)
        alarms += [{"part": number - STEADY, "signal": alarm.signal, "words": alarm.words} for alarm in raised]
    share = np.convolve(rejected, np.ones(WINDOW) / WINDOW, "same")
    usual = float(np.mean(rejected[:STEADY]))
    doubled = np.flatnonzero(share[STEADY:] >= 2 * max(usual, 1 / WINDOW))
    after = [alarm for alarm in alarms if alarm["part"] >= 0]
    return {
        "overkill_before": usual,
        "overkill_at_the_end": float(share[-WINDOW // 2 - 1]),
        "false_alarms": len(alarms) - len(after),
        "first_alarm": after[0] if after else None,
        "overkill_doubles_at": int(doubled[0]) if len(doubled) else None,
        "alarms": after[:12],
        "overkill": [round(float(value), 3) for value in share[::10]],
        "levels": {
            name: [round(value, 2) for _, value in photo_seed[::10]] for name, photo_seed in signals.levels.items()
        },
    }


def figures(folders: dict[str, Path]) -> dict:
    results: dict[str, dict] = {}
    for name, folder in folders.items():
        photos = split_to_teach(scan(folder), blind=True)
        fit = photos.train[:: max(1, len(photos.train) // TAUGHT)]
        order = TeachingConfig(name, Split(fit, (), photos.test, groups=photos.groups), tolerances=DEFAULT_TOLERANCES)
        backbone, taps = order.network(("mahalanobis",))
        store = FeatureStore(workspace.root() / "features")
        study = Study.from_order(order, backbone, store, taps=taps, method="mahalanobis").fit()
        inspector = LoadedRecipe(study.recipe(), backbone)
        good = [sample for sample in photos.test if sample.label == GOOD]
        runs = {fault: run_of(inspector, good, fault, seed=0) for fault in ("lamp", "lens")}
        results[name] = {"taught": len(fit), "good photos that come by": len(good), **runs}
    return results


def drawn(results: dict) -> go.Figure:
    titles = [f"{name}: {fault}" for name in results for fault in ("lamp", "lens")]
    shown = panels(len(results), 2, titles, height=320 * len(results))
    for row, runs in enumerate(results.values(), 1):
        for column, fault in enumerate(("lamp", "lens"), 1):
            at = [10 * i - STEADY for i in range(len(runs[fault]["overkill"]))]
            curves = {"overkill, share of parts": runs[fault]["overkill"], **runs[fault]["levels"]}
            for number, (signal, values) in enumerate(curves.items()):
                begins = at[len(at) - len(values) :]  # what is usual for a signal is first collected
                line(shown, begins, np.abs(values), signal, number, (row, column), first=row == column == 1)
            shown.add_hline(1, line={"dash": "dot"}, row=row, col=column)
            shown.add_vline(0, line={"dash": "dot"}, row=row, col=column)
    return shown.update_traces(mode="lines").update_yaxes(range=[0, 3])


def main() -> None:
    asked = parser("drift", __doc__)
    asked.add_argument(
        "folders", nargs="*", metavar="NAME=FOLDER", help="in MVTec AD layout; default: the sample parts"
    )
    options = asked.parse_args()
    measured_on = machine()
    results = figures(sets(options.folders))
    write(options.name, results, measured_on=measured_on)
    picture("drift", drawn(results))


if __name__ == "__main__":
    main()
