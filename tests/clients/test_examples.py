"""The examples of docs/RUNNER.md: what can be compiled here is."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from inspect_core.images.photo_reader import squash
from tests.clients.squashing import CASES, photo

PAGE = Path(__file__).parents[2] / "docs/RUNNER.md"
MAIN = """
#include <cstdio>
#include <cstdlib>
int main(int count, char** sides) {
    for (int i = 1; i + 3 < count; i += 4) {
        const size_t height = atoi(sides[i]), width = atoi(sides[i + 1]);
        std::vector<uint8_t> rgb(height * width * 3);
        if (fread(rgb.data(), 1, rgb.size(), stdin) != rgb.size()) return 1;
        const auto small = squash(rgb, height, width, atoi(sides[i + 2]), atoi(sides[i + 3]));
        fwrite(small.data(), 1, small.size(), stdout);
    }
}
"""


@pytest.mark.slow
def test_the_squash_in_cpp_gives_the_bytes_of_pillow(tmp_path):
    if shutil.which("g++") is None or os.name == "nt":
        pytest.skip("needs g++, on a system whose streams keep every byte")
    example = re.search(r"```cpp\n(.*?)\nstruct Recipe", PAGE.read_text(), re.DOTALL)[1]
    (tmp_path / "squash.cpp").write_text(example.replace("#include <onnxruntime_cxx_api.h>\n", "") + MAIN)
    compiler = ["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*compiler, "squash.cpp", "-o", "squash"], cwd=tmp_path, check=True)
    sides = [str(side) for case in CASES for size in case for side in size]
    photos = [photo(size) for size, _ in CASES]
    content = b"".join(pixels.tobytes() for pixels in photos)
    done = subprocess.run([tmp_path / "squash", *sides], input=content, capture_output=True, check=True)
    assert done.stdout == b"".join(squash(pixels, to).tobytes() for pixels, (_, to) in zip(photos, CASES, strict=True))
