"""The build: the wheel also carries the app, its pages and settings, and the sample products."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
APP_FILES = ("app.py", "pages/*.py", ".streamlit/config.toml", "sample_data/**/*.jpg", "sample_data/**/*.png")


class BuildWithApp(build_py):
    """Copies them into the package, where `workspace.app_folder` looks first; an editable install has the checkout."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for source in (path for pattern in APP_FILES for path in ROOT.glob(pattern)):
            target = Path(self.build_lib, "inspect_core", "app_files", source.relative_to(ROOT))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


setup(cmdclass={"build_py": BuildWithApp})
