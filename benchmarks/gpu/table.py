"""The table in docs/COSTS.md that says what a GPU brings, from benchmarks/results/gpu.json."""

import json
from pathlib import Path

from benchmarks.main_job.budgets import refresh
from benchmarks.measure import RESULTS

COSTS = Path(__file__).resolve().parents[2] / "docs/COSTS.md"
MARKS = ("<!-- gpu -->", "<!-- /gpu -->")
NOT_MEASURED = "Not measured yet: no GPU was at hand. `make gpu` measures on yours and fills this place."


def write(folder: Path = RESULTS) -> None:
    """Write what a folder's result says into the document."""
    path = folder / "gpu.json"
    contents = contents_of(json.loads(path.read_text())) if path.exists() else NOT_MEASURED
    COSTS.write_text(refresh(COSTS.read_text(encoding="utf-8"), contents, MARKS), encoding="utf-8")


def contents_of(result: dict) -> str:
    """The Markdown of a result: rates by network and device, fits, agreement, machine."""
    figures, machine = result["figures"], result["machine"]
    columns = ("photos at once", "one at a time", "to features", "to verdict", "GPU busy", "cores busy", "same bits")
    lines = [f"| network | device | {' | '.join(columns)} |", "| --- " * (2 + len(columns)) + "|"]
    for device, of_device in figures["speed"].items():
        for name, rates in of_device["networks"].items():
            shown = [f"{rates['at_once']}"]
            shown += [f"{rates[key]:,.0f}/s" for key in ("one_at_a_time_per_s", "features_per_s", "verdicts_per_s")]
            shown += [_percent(rates["verdicts_gpu_busy"]), _percent(rates["verdicts_cores_busy"])]
            shown += ["yes" if rates["same_bits_in_any_batch"] else "**no**"]
            lines.append(f"| {name} | {device} | {' | '.join(shown)} |")
    lines += ["", "| photos taught | device | seconds | memory of the GPU | of the machine |", "| --- " * 5 + "|"]
    for device, of_device in figures["speed"].items():
        for count, fit in of_device["fits"].items():
            on_gpu = f"{fit['gpu_peak_mb']:,.0f} MB" if "gpu_peak_mb" in fit else ""
            lines.append(f"| {int(count):,} | {device} | {fit['seconds']:.1f} | {on_gpu} | {fit['peak_mb']:,.0f} MB |")
    lines += ["", *agreement_lines(figures["agreement"])]
    left_out = f" Left out for lack of time: {', '.join(figures['left_out'])}." if figures["left_out"] else ""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    device = f"{machine['device']}, driver {machine['driver']}; {machine['processor']}, {machine['cores']} cores"
    return "\n".join([*lines, "", f"Measured on {device}, {machine['when'][:10]}; {versions}.{left_out}"])


def agreement_lines(agreement: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    """The Markdown of what changes between the CPU and the device, by method over all parts."""
    lines = ["| method | parts | verdicts changed | largest relative difference of a score |", "| --- " * 4 + "|"]
    for method in dict.fromkeys(method for of_part in agreement.values() for method in of_part):
        compared = [of_part[method] for of_part in agreement.values() if method in of_part]
        changed, photos = (sum(int(part[key]) for part in compared) for key in ("verdicts_changed", "photos"))
        largest = max(part["largest_relative_difference"] for part in compared)
        lines.append(f"| {method} | {len(compared)} | {changed} of {photos} | {largest:.1e} |")
    return lines


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"
