"""Pages driven by AppTest: fresh caches, a workspace of their own, the whole app from its front door."""

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from inspect_core.ui import shell, teaching_job
from inspect_core.ui.bench import bench
from inspect_core.workbench import fitted_product
from inspect_core.workbench.shelf import shelf
from tests.pages.waiting import end_process, wait_for_job

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def every_run_passes_app_py(monkeypatch):
    """A server remembers that st.navigation was called and never runs a page without app.py; AppTest forgets."""
    made = PagesManager.__init__

    def remember(self, *arguments, **options):
        made(self, *arguments, **options)
        PagesManager.uses_pages_directory = False

    monkeypatch.setattr(PagesManager, "__init__", remember)


@pytest.fixture(scope="session", autouse=True)
def packages_read_once():
    """Every new AppTest reads what each installed package says of itself, as a server does once at its start."""
    with pytest.MonkeyPatch.context() as patch:
        read_once = functools.cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", read_once)
        yield


@pytest.fixture(autouse=True)
def fresh_process_state(workspace):
    """Streamlit's caches live as long as the process; every test begins without a job and with empty hands."""
    end_process()
    yield
    job = shell.jobs().current
    if job is not None and job.active:
        job.cancel()
        wait_for_job()


@pytest.fixture
def drawn(monkeypatch) -> list:
    """What the bench was given to draw, the latest last."""
    calls, draw = [], bench.bench
    monkeypatch.setattr(bench, "bench", lambda key, drawn, thumbs: calls.append(drawn) or draw(key, drawn, thumbs))
    return calls


@pytest.fixture(autouse=True)
def forecast_of_an_exported_graph(monkeypatch):
    """Whatever is chosen, the forecast times a network that is exported already; the list of what was asked for."""
    plan_of, asked = teaching_job.plan_of, []

    def quick(order, *others):
        asked.append(order)
        return plan_of(replace(order, size=(128, 128), taps="expansions"), *others)

    monkeypatch.setattr(teaching_job, "plan_of", quick)
    return asked


@pytest.fixture
def no_first_start(monkeypatch):
    """The app does not teach the sample part by itself."""
    monkeypatch.setattr(teaching_job, "samples", lambda: ())


@pytest.fixture
def open_app() -> Callable[[str], AppTest]:
    """open_app("pages/teach.py") is the app on that page, run once, without an exception."""

    def start(page: str | None = None) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
        if page is not None:
            app.session_state["page_wanted"] = page
        app.run()
        assert not app.exception, app.exception
        return app

    return start


@pytest.fixture(scope="session")
def flange(product, backbone, tmp_path_factory):
    """A small part in hand, taught once for all page tests."""
    from inspect_core.datasets.folders import scan
    from inspect_core.features.store import FeatureStore
    from inspect_core.study.study import Study
    from inspect_core.tuning.product_check_training import train_product_check

    study = Study.from_photos(
        scan(product), backbone, FeatureStore(tmp_path_factory.mktemp("store")), parameters={"k": 8}, grid=(16, 16)
    ).fit()
    product_check = train_product_check(study.extractor.backbone, study.split.train, study.split.calibration)
    return fitted_product.product_from_study("flange", study, product_check=product_check)


@pytest.fixture(scope="session")
def flange_under(flange):
    """retaught(detector, **parameters) is the part of `taught` under it, taught once for all page tests."""
    from inspect_core.study.study import Study

    made = {}

    def part(detector: str, **parameters: int):
        if detector not in made:
            learned, backbone = flange.study, flange.extractor.backbone
            options = {"method": detector, "parameters": parameters, "grid": (16, 16)}
            study = Study.from_photos(learned.split, backbone, learned.store, **options).fit()
            made[detector] = fitted_product.product_from_study("flange", study, product_check=flange.product_check)
        return made[detector]

    return part


@pytest.fixture
def in_the_hand(flange, fresh_process_state):
    """The taught part lies in hand for whoever opens the app next; what is done to it goes with the test."""
    shelf().put(flange)
    return flange
