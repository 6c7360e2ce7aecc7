"""Peak memory of one large photo, by kind of file: read, brought to features, and scanned as a folder of four.

Each figure is of a process of its own, in MB (10^6 bytes) above what it held once everything was imported and the
network had seen one small photo. The bound is MEMORY_PER_PIXEL and 100 MB; what would take more is refused. Linux only.
"""

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.main_job.setting import FULL, network, sample
from benchmarks.measure import in_own_process, own_peak_mb, parser, resident_mb, write
from inspect_core.datasets.folders import scan
from inspect_core.features.extraction import FeatureExtractor
from inspect_core.features.patch_join import PatchFeatureSpec
from inspect_core.images.decode_memory import MEMORY_PER_PIXEL
from inspect_core.images.photo_reader import read

MIB = 2**20 / 1e6
WORKS = ("read", "features", "scan")  # scan: of four copies


def figures(megapixels: float) -> dict:
    """MB for each kind of file and each kind of work, or the reason of the refusal."""
    side = int(1000 * megapixels**0.5)
    results = {"megapixels": side**2 / 1e6, "bound_mb": MEMORY_PER_PIXEL * side**2 / 1e6 + 100}
    with tempfile.TemporaryDirectory(prefix="loupe-photos-") as folder:
        root = Path(folder)
        for name, save in kinds(side).items():
            path = root / name / name
            path.parent.mkdir()
            save(path)
            results[name] = {
                work: in_own_process(
                    ["benchmarks.main_job.photo_memory", "--work", work, str(path)], workspace=root / "workspace"
                )
                for work in WORKS
            }
            shutil.rmtree(path.parent)
    return results


def kinds(side: int) -> dict[str, Callable[[Path], None]]:
    """A square photo of the sample, repeated, in every kind of file: name -> what saves it."""
    part = read(sample().good[0].path).pixels
    times = -(-side // min(part.shape[:2]))
    colours = Image.fromarray(np.tile(part, (times, times, 1))[:side, :side])
    grey = colours.convert("L")
    clear = colours.copy()
    clear.putalpha(grey)
    deep = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    turned = Image.Exif()
    turned[0x0112] = 6
    encodings = {
        "rgb.png": (colours, {"compress_level": 1}),
        "turned.png": (colours, {"compress_level": 1, "exif": turned}),
        "rgba.png": (clear, {"compress_level": 1}),
        "palette.png": (grey.convert("P"), {"compress_level": 1, "transparency": 0}),
        "deep.png": (deep, {"compress_level": 1}),
        "rgb.jpg": (colours, {"quality": 90}),
        "turned.jpg": (colours, {"quality": 90, "exif": turned}),
        "progressive.jpg": (colours, {"quality": 90, "progressive": True}),
        "progressive-444.jpg": (colours, {"quality": 90, "progressive": True, "subsampling": 0}),
        "cmyk.jpg": (colours.convert("CMYK"), {"quality": 90}),
        "rgba.bmp": (clear, {}),
        "rgb.tif": (colours, {}),
        "deep.tif": (deep, {}),
        "lzw.tif": (colours, {"compression": "tiff_lzw"}),
        "one-strip.tif": (clear, {"compression": "tiff_adobe_deflate", "tiffinfo": {278: side}}),
        "turned.tif": (colours, {"exif": turned}),
        "rgb.webp": (colours, {"quality": 80, "method": 0}),
    }
    return {name: lambda path, image=image, options=options: image.save(path, **options)
            for name, (image, options) in encodings.items()}  # fmt: skip


def measured(work: str, path: Path) -> float | str:
    """MB above the baseline, or why the photo is refused."""
    if work == "scan":
        for number in range(3):
            shutil.copy(path, path.with_stem(f"{path.stem}-{number}"))
    if work == "features":
        extractor = FeatureExtractor(network(FULL), (32, 32), (PatchFeatureSpec(network(FULL).taps),))
        extractor.features(np.zeros((64, 64, 3), np.uint8))
    before = sum(resident_mb().values())
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    try:
        if work == "scan":
            scan(path.parent)
        elif work == "read":
            read(path)
        else:
            extractor.features(read(path).pixels)
    except ValueError as error:
        return str(error)
    return round((own_peak_mb() - before) * MIB)


def main() -> None:
    asked = parser("photo_memory", __doc__)
    asked.add_argument("--megapixels", type=float, default=64)
    asked.add_argument("--work", choices=WORKS)
    asked.add_argument("photo", type=Path, nargs="?")
    options = asked.parse_args()
    if options.work:
        print(json.dumps(measured(options.work, options.photo)))
        return
    results = figures(options.megapixels)
    write(options.name, results)
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
