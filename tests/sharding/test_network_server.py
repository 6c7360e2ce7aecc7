"""A network served to other processes: the rows of one process, whatever happens to those that ask."""

import os
import signal
import threading
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from inspect_core.images.tiles import TilePlan
from inspect_core.line.batch import Outputs, photos_of, run
from inspect_core.line.map_folder import MapFolder
from inspect_core.recipe import LoadedRecipe
from inspect_core.recipe_format.photo_inspector import PlacedPhoto
from inspect_core.recipe_io.recipe_file import save
from inspect_core.sharding import inspection_tasks
from inspect_core.sharding.inspection_tasks import SentFacts, judging_on
from inspect_core.sharding.network_client import ERRORS, TOGETHER, ServedRecipe
from inspect_core.sharding.network_server import NetworkServer
from inspect_core.sharding.processes import Processes
from inspect_core.tuning.product_check_training import train_product_check
from tests.sharding.ready import LoadedModules

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class TakesBatches(LoadedRecipe):
    """As a recipe whose network is on a GPU."""

    at_once = 3 * TOGETHER


@pytest.fixture(scope="module")
def pool():
    with closing(Processes(2)) as processes:
        yield processes


@pytest.fixture
def inspector(plain, tmp_path):
    check = train_product_check(plain.extractor.backbone, plain.split.train, plain.split.calibration)
    recipe = save(plain.recipe(product_check=check), tmp_path / "recipe")
    return TakesBatches(recipe, plain.extractor.backbone)


class FixedNetwork:
    """Errors by the brightness of a picture; the first request waits until it is let go."""

    at_once = 2 * TOGETHER

    def __init__(self):
        self.counts, self.let_go, self.begun = [], threading.Event(), threading.Event()

    def compute_errors(self, pictures, wholes=None):
        self.begun.set()
        assert self.let_go.wait(20)
        self.counts.append(len(pictures))
        if any(picture.min() == 99 for picture in pictures):
            raise ValueError("no memory left on the GPU")
        return (np.stack([np.full((2, 2), picture.mean(), np.float32) for picture in pictures]),)


@pytest.fixture
def served(inspector):
    """served(network) is a server and a function that opens a client of it."""
    servers = []

    def serve(network):
        server = NetworkServer(network)
        servers.append(server)
        return server, lambda: ServedRecipe(server.address, inspector.recipe.facts)

    yield serve
    for server in servers:
        server.close()


def pictures_of(client: ServedRecipe, *levels: int) -> list[np.ndarray]:
    return [np.full((*client.size, 3), level, np.uint8) for level in levels]


@pytest.mark.usefixtures("unhurried")
def test_rows_equal_one_process_when_a_worker_is_killed(inspector, pool, product, tmp_path, monkeypatch):
    monkeypatch.setattr(inspection_tasks, "PHOTOS", 3)
    photos = [*photos_of([product / "test"]), ("gone.png", tmp_path / "gone.png")]
    tables, killed = {}, []

    def kill(row) -> None:
        if not killed:
            killed.append(pool.ids[0])
            os.kill(killed[0], signal.SIGKILL)

    for name, executor in (("here", None), ("served", pool)):
        outputs = Outputs(tmp_path / f"{name}.csv", MapFolder(tmp_path / name))
        with judging_on(executor, inspector, tmp_path / "recipe") as judging:
            rows = run(inspector, photos, outputs, judging=judging, on_row=kill if executor else lambda row: None)
        maps = {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*.[pn][np][gy]")}
        tables[name] = [asdict(row) | {"time": "", "milliseconds": 0} for row in rows], maps
    assert killed
    assert tables["here"] == tables["served"]
    assert [row["verdict"] for row in tables["served"][0]].count("not judged") == 1


def test_a_served_recipe_is_opened_without_torch(inspector, pool, served):
    server, _ = served(inspector)
    [(_, modules)] = pool.map(LoadedModules(SentFacts(server.address, inspector.recipe.facts)), [(0, None)])
    assert "onnxruntime" in modules
    assert "torch" not in modules


def test_requests_that_wait_are_computed_together(served):
    network = FixedNetwork()
    server, client = served(network)
    clients, answers = [client() for _ in range(4)], {}

    def ask(number: int) -> None:
        levels = range(10 * number, 10 * number + TOGETHER)
        answers[number] = clients[number]._ask(ERRORS, pictures_of(clients[number], *levels))[0][:, 0, 0].tolist()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(clients))]
    threads[0].start()
    assert network.begun.wait(20)
    for thread in threads[1:]:
        thread.start()
    while server._requests.qsize() < 3:
        threading.Event().wait(0.01)
    network.let_go.set()
    for thread in threads:
        thread.join(20)
    assert network.counts == [TOGETHER, 2 * TOGETHER, TOGETHER]
    assert answers == {number: list(range(10 * number, 10 * number + TOGETHER)) for number in range(len(clients))}


def test_what_the_network_raises_is_told_and_it_goes_on(served):
    network = FixedNetwork()
    network.let_go.set()
    _, client = served(network)
    asking = client()
    with pytest.raises(ValueError, match="no memory left on the GPU"):
        asking._ask(ERRORS, pictures_of(asking, 99))
    assert asking._ask(ERRORS, pictures_of(asking, 7))[0].tolist() == [[[7, 7], [7, 7]]]


def test_a_client_hears_that_the_network_is_gone(served):
    network = FixedNetwork()
    network.let_go.set()
    server, client = served(network)
    before, after = client(), client()
    before._ask(ERRORS, pictures_of(before, 7))
    server.close()
    for asking in (before, after):
        with pytest.raises((OSError, ValueError), match="start the batch again"):
            asking._ask(ERRORS, pictures_of(asking, 7))


def test_shared_memory_goes_with_the_client(served):
    network = FixedNetwork()
    network.let_go.set()
    _, client = served(network)
    asking = client()
    asking._ask(ERRORS, pictures_of(asking, 7))
    connection, block = asking._served
    path = Path("/dev/shm", block.name)
    assert path.exists()
    connection.close()
    for _ in range(200):
        if not path.exists():
            break
        threading.Event().wait(0.02)
    assert not path.exists()


def test_tiles_go_beside_the_whole_photo(inspector, served):
    requested = []

    class Listening(FixedNetwork):
        def compute_errors(self, pictures, wholes=None):
            requested.append([(rows[0].shape[:2], int(rows[0].min())) for rows in (pictures, wholes)])
            return np.zeros((1, 2, 2), np.float32), np.ones((1, 3), np.float32), np.ones((1, 4), np.float32)

    server, _ = served(Listening())
    height, width = inspector.size
    plan = TilePlan((2 * height, 2 * width), tile=inspector.size, overlap=0)
    asking = ServedRecipe(server.address, inspector.recipe.facts | {"tiles": plan})
    sent = PlacedPhoto(picture=np.full((*plan.size, 3), 5, np.uint8), whole=np.full((*inspector.size, 3), 6, np.uint8))
    [[anomaly_map, embedding, logits]] = asking.compute_maps([sent], head=True)
    assert requested == [[(plan.size, 5), (inspector.size, 6)]]
    assert (anomaly_map.shape, embedding.shape, logits.shape) == (plan.map_size, (1, 3), (1, 4))
