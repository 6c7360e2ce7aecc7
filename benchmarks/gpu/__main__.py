"""Proves Loupe on a GPU, in at most six minutes: python -m benchmarks.gpu [--device cpu] [--quick]

Teaches the sample parts with each method on the CPU and on the GPU and compares verdicts and scores; looks whether a
photo's features are the same, to the bit, in any batch; measures photos a second from file to features and to verdict,
how busy GPU and cores are, and teaching. Writes benchmarks/results/gpu.json and the table in docs/COSTS.md; exits with
1 where a verdict, a score or a bit is not as it must be. --device cpu runs the same on the CPU and keeps nothing unless
a folder is named; --quick sees that all of it runs, in little time.

Neither network nor Streamlit is needed; what else a machine lacks comes from the wheels of `make gpu-wheels`.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.gpu import wheels


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    wheels.use(options.wheels)
    # Only now is everything there that they need.
    from benchmarks.gpu import agreement, setting, speed, table
    from benchmarks.measure import RESULTS, machine, write
    from inspect_core.features.backbones import load

    chosen = setting.QUICK if options.quick else setting.FULL
    device = str(load(setting.LITE, device=options.device).device)
    measured_on = machine() | _card(device)
    clock = setting.Clock(0.4 * chosen.seconds)
    figures: dict[str, Any] = {"agreement": agreement.methods_agree(device, chosen, clock)}
    clock = setting.Clock(chosen.seconds, clock.left_out, clock.began)
    figures |= {"speed": speed.measured(device, chosen, clock, agreement.bits_agree), "left_out": clock.left_out}
    folder = options.results or (RESULTS if device != "cpu" and not options.quick else None)
    if folder is not None:
        write("gpu", figures, measured_on=measured_on, folder=folder)
        if folder == RESULTS:
            table.write()
    print(json.dumps(figures, indent=1))
    print(table.contents_of({"figures": figures, "machine": measured_on}))
    faults = _faults(figures, agreement.TOLERANCE)
    print("\n".join(faults) or "Verdicts, scores and bits are as they must be.")
    return 1 if faults else 0


def _faults(figures: dict[str, Any], tolerance: float) -> list[str]:
    """What is not as it must be, in sentences."""
    sentences = []
    for part, methods in figures["agreement"].items():
        for method, compared in methods.items():
            if compared["verdicts_changed"]:
                sentences.append(f"{method} on {part}: {compared['verdicts_changed']} verdicts differ from the CPU's.")
            if not compared["largest_relative_difference"] <= tolerance:
                difference = compared["largest_relative_difference"]
                sentences.append(f"{method} on {part}: a score differs by {difference:.1e}, more than {tolerance:g}.")
    for device, of_device in figures["speed"].items():
        for name, rates in of_device["networks"].items():
            if not rates["same_bits_in_any_batch"]:
                sentences.append(f"{name} on {device}: features depend on the other photos of the batch.")
    return sentences


def _card(device: str) -> dict[str, str]:
    """The name and the driver of the device."""
    if device == "cpu":
        return {"device": "the CPU", "driver": "none"}
    import torch

    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        driver = subprocess.run(query, stdout=subprocess.PIPE, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        driver = "unknown"
    return {"device": torch.cuda.get_device_name(device), "driver": driver}


def _options(arguments: list[str] | None) -> argparse.Namespace:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks.gpu", description=__doc__, formatter_class=plain)
    parser.add_argument("--device", default="cuda", help='"cuda", "cuda:1" or "cpu"')
    parser.add_argument("--quick", action="store_true", help="only see that everything runs")
    parser.add_argument("--results", type=Path, help="folder of the result, in place of benchmarks/results")
    parser.add_argument("--wheels", type=Path, default=wheels.FOLDER, help="folder that `make gpu-wheels` filled")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
