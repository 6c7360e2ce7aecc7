"""Builds the release, checks it in a fresh environment and prints the digests.

python -m benchmarks.release [--out dist]

The wheel is built from the unpacked source distribution, so both are shown to be whole. It is installed with each extra
into new environments, outside the checkout: one teaches the sample, exports the recipe and opens the app, those without
torch inspect with the export.
"""

import argparse
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
import venv
from pathlib import Path

from inspect_core.cli.console import ACCEPTED, NOT_ACCEPTED

ROOT = Path(__file__).parent.parent
BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, 'build_' + sys.argv[1])(sys.argv[2])"
OPENS_WITHIN = 120
"""Seconds."""


def build(out: Path, scratch: Path) -> tuple[Path, Path]:
    """The source distribution and the wheel built from it, both in `out`; raise CalledProcessError."""
    copy = scratch / "checkout"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    subprocess.run([sys.executable, "-c", BUILD, "sdist", out], cwd=copy, check=True, stdout=subprocess.DEVNULL)
    (source,) = out.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(scratch, filter="data")
    unpacked = scratch / source.name.removesuffix(".tar.gz")
    subprocess.run([sys.executable, "-c", BUILD, "wheel", out], cwd=unpacked, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = out.glob("*.whl")
    return source, wheel


class Installed:
    """The wheel with an extra, "" for none, in a new environment outside the checkout."""

    def __init__(self, wheel: Path, extra: str, scratch: Path) -> None:
        print(f"installing {wheel.name}{f'[{extra}]' if extra else ''}", flush=True)
        self.folder, self.scratch = scratch / f"environment-{extra or 'none'}", scratch
        self.tools = self.folder / ("Scripts" if os.name == "nt" else "bin")
        home = {"HOME": str(scratch), "XDG_DATA_HOME": str(scratch / "data")}
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("LOUPE_", "PYTHON"))}
        self.env = environment | home
        venv.create(self.folder, with_pip=True)
        self.add(wheel, extra)

    def add(self, wheel: Path, extra: str) -> None:
        """Install the wheel with one more extra."""
        asked = f"{wheel}[{extra}]" if extra else wheel
        self.run("python", "-m", "pip", "-q", "--disable-pip-version-check", "install", asked)
        self.run("python", "-m", "pip", "check")

    def run(self, command: str, *words: object, returns: int = ACCEPTED) -> None:
        """Raise CalledProcessError for another exit status."""
        print(command, *words, flush=True)
        line = [self.tools / command, *map(str, words)]
        done = subprocess.run(line, cwd=self.scratch, env=self.env, stdout=subprocess.DEVNULL)
        if done.returncode != returns:
            raise subprocess.CalledProcessError(done.returncode, line)


def check(wheel: Path, scratch: Path) -> None:
    """Install the wheel with each extra and use it as its users do; raise CalledProcessError, OSError."""
    app = Installed(wheel, "app", scratch)
    for name in ("LICENSE", "NOTICE"):
        is_there = next(app.folder.rglob(f"loupe_inspect-*.dist-info/licenses/{name}"), None)
        assert is_there, f"{name} is not in the wheel."
    app.run("loupe", "doctor")
    shutil.copytree(next(app.folder.rglob("app_files/sample_data/flange")), scratch / "flange")
    app.run("loupe", "fit", "flange", "--out", "flange.zip")
    app.run("loupe", "export", "flange.zip", "--out", "line.zip")
    opens(app.tools / "loupe", scratch, app.env)
    app.add(wheel, "cluster")
    app.run("python", "-c", "import inspect_core.sharding.cluster")
    check_line(wheel, scratch)


def check_line(wheel: Path, scratch: Path) -> None:
    """Install it without an extra and as on a PC at the line, without torch, and inspect with line.zip and a list that
    is not in UTF-8.
    """
    photos = scratch / "parts"
    shutil.copytree(scratch / "flange/test/dent", photos)
    rows = "".join(f"{photo.name};Prüfling verkratzt\n" for photo in photos.iterdir())
    (photos / "labels.csv").write_bytes(f"Datei;Fehler\n{rows}".encode("cp1252"))
    photo = next(photos.glob("*.jpg"))
    code = "import sys; from inspect_core import Runner, read; Runner('line.zip').inspect(read(sys.argv[1]).pixels)"
    without_torch = "import importlib.util; assert importlib.util.find_spec('torch') is None"
    for extra in ("", "line"):
        installed = Installed(wheel, extra, scratch)
        installed.run("python", "-c", without_torch)
        installed.run("python", "-c", code, photo)
    installed.run("loupe", "inspect", "line.zip", photos, "--csv", "verdicts.csv", returns=NOT_ACCEPTED)


def opens(command: Path, folder: Path, env: dict[str, str]) -> None:
    """Start the app and wait until it answers; raise TimeoutError."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    print("loupe app", flush=True)
    settings = env | {"STREAMLIT_SERVER_HEADLESS": "true"}
    log = folder / "log"
    with log.open("w") as written:
        server = subprocess.Popen(
            [command, "app", "--port", str(port)], cwd=folder, env=settings, stdout=written, stderr=written
        )
        try:
            until = time.monotonic() + OPENS_WITHIN
            while not answers(f"http://127.0.0.1:{port}/_stcore/health"):
                if server.poll() is not None or time.monotonic() > until:
                    raise TimeoutError(log.read_text())
                time.sleep(0.5)
        finally:
            server.terminate()
            server.wait()


def answers(address: str) -> bool:
    """Whether a server answers there."""
    try:
        return urllib.request.urlopen(address, timeout=5).status == 200
    except OSError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out",
        type=Path,
        default=ROOT / "dist",
        help="folder for the two files; those of an earlier release are replaced",
    )
    out = parser.parse_args().out.resolve()
    for former in (*out.glob("loupe_inspect-*.whl"), *out.glob("loupe_inspect-*.tar.gz")):
        former.unlink()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="loupe-release-") as folder:
        built = build(out, Path(folder))
        check(built[1], Path(folder))
    for path in built:
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}")


if __name__ == "__main__":
    main()
