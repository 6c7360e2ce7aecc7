"""Builds the release, checks it in a fresh environment and prints the digests.

python -m benchmarks.release [--out dist]

The wheel is built from the unpacked source distribution, so both are shown to be whole. It is installed with all it
depends on into a new environment, which teaches the sample, exports the recipe and opens the app, outside the checkout.
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


def check(wheel: Path, scratch: Path) -> None:
    """Install the wheel into a new environment and use it as a user does; raise CalledProcessError, OSError."""
    environment = scratch / "environment"
    venv.create(environment, with_pip=True)
    tools = environment / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run(
        [tools / "python", "-m", "pip", "-q", "--disable-pip-version-check", "install", wheel], check=True, cwd=scratch
    )
    for name in ("LICENSE", "NOTICE"):
        assert next(environment.rglob(f"loupe_inspect-*.dist-info/licenses/{name}"), None), (
            f"{name} is not in the wheel."
        )
    home = {"HOME": str(scratch), "XDG_DATA_HOME": str(scratch / "data")}
    env = {key: value for key, value in os.environ.items() if not key.startswith(("LOUPE_", "PYTHON"))} | home

    def loupe(*words: object, returns: int = ACCEPTED) -> None:
        print("loupe", *words, flush=True)
        command = [tools / "loupe", *map(str, words)]
        done = subprocess.run(command, cwd=scratch, env=env, stdout=subprocess.DEVNULL)
        if done.returncode != returns:
            raise subprocess.CalledProcessError(done.returncode, command)

    loupe("doctor")
    shutil.copytree(next(environment.rglob("app_files/sample_data/flange")), scratch / "flange")
    loupe("fit", "flange", "--out", "flange.zip")
    loupe("export", "flange.zip", "--out", "line.zip")
    loupe("inspect", "line.zip", "flange/test/dent", returns=NOT_ACCEPTED)
    opens(tools / "loupe", scratch, env)


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
