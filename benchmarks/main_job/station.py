"""A station under kills: python -m benchmarks.main_job.station [--parts 10000] [--kills 200]

`loupe station` runs as a process of its own with an exported recipe; a model of a controller runs parts through it over
Modbus, ten a second at most, and a broker and a subscriber take the results by MQTT. In turn, at random parts, the
station, the broker and the wire are killed, and the controller forgets all it knew. Then every part that passed is
looked up in the log: it must have been accepted. The subscriber must have every part of the log, in order. Latency is
that of parts during which nothing was killed; the handshake's share is what the controller waits beyond the station's
own time from trigger to shown result, with its polling every 2 ms.
"""

import itertools
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import paho.mqtt.client as mqtt

from benchmarks.main_job.setting import FULL, sample, study, taught
from benchmarks.measure import parser, write
from inspect_core.audit.entry import PART
from inspect_core.audit.log import AuditLog
from inspect_core.features.store import FeatureStore
from inspect_core.recipe_io.onnx_export import export
from inspect_core.recipe_io.parity_photos import find_photos
from inspect_core.runtime import workspace
from inspect_core.station.controller import Controller, ModbusLink, Outcome
from inspect_core.station.settings import ModbusPort

A_SECOND = 10
START_SECONDS = 60.0
KINDS = ("station", "broker", "wire", "controller")


class Wire:
    """A TCP forwarder that can be cut: connections end, and for a moment none is made."""

    def __init__(self, target: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._target = target
        self._open: list[socket.socket] = []
        self._cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, seconds: float) -> None:
        self._cut = True
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._open.clear()
        time.sleep(seconds)
        self._cut = False

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            try:
                if self._cut:
                    raise OSError
                far = socket.create_connection(("127.0.0.1", self._target), 1.0)
            except OSError:
                near.close()
                continue
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(4096):
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Line:
    """The processes of one line, in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.port, self.broker_port = _free_port(), _free_port()
        self.photos = _photos()
        _export(root / "flange")
        self.settings = root / "station.yaml"
        self.settings.write_text(
            f"name: benchmark\ntrial: true\nview_seconds: 1.0\nrecipes: [{{number: 1, file: flange}}]\n"
            "views: [{name: top, folder: in}]\nkeep: {folder: kept, accepted_every: 0, least_free_gigabytes: 0}\n"
            f"modbus: {{port: {self.port}}}\nmqtt: [{{host: 127.0.0.1, port: {self.broker_port}, topic: line}}]\n"
        )
        (root / "broker").mkdir()
        (root / "broker.conf").write_text(
            f"listener {self.broker_port} 127.0.0.1\nallow_anonymous true\npersistence true\nuser root\n"
            f"persistence_location {root}/broker/\nautosave_interval 1\nmax_queued_messages 0\n"
        )
        self.wire = Wire(self.port)
        self.heard: dict[str, int] = {}
        self.start_broker()
        self.start_station()
        self._subscribe()

    def start_station(self) -> None:
        command = [sys.executable, "-m", "inspect_core", "station", str(self.settings)]
        self.station = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start_broker(self) -> None:
        mosquitto = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
        command = [mosquitto, "-c", str(self.root / "broker.conf")]
        self.broker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self, kind: str) -> None:
        if kind == "station":
            self.station.send_signal(signal.SIGKILL)
            self.station.wait()
            self.start_station()
        elif kind == "broker":
            self.broker.terminate()  # mosquitto keeps its sessions on disk where it is ended, not where it is killed
            self.broker.wait()
            self.start_broker()
        elif kind == "wire":
            self.wire.cut(0.3)

    def _subscribe(self) -> None:
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="mes", clean_session=False)
        client.reconnect_delay_set(1, 1)
        client.on_connect = lambda client, *_: client.subscribe("line/part", qos=1)

        def on_message(client: mqtt.Client, data: object, message: mqtt.MQTTMessage) -> None:
            part = json.loads(message.payload)
            self.heard.setdefault(part["id"], part["number"])

        client.on_message = on_message
        client.connect_async("127.0.0.1", self.broker_port)
        client.loop_start()
        self.subscriber = client

    def photograph(self, part: int) -> None:
        source = self.photos[part % len(self.photos)]
        hidden = self.root / "in" / f".{part}{source.suffix}"
        hidden.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, hidden)
        hidden.replace(self.root / "in" / f"{part}{source.suffix}")

    def controller(self) -> tuple[ModbusLink, Controller]:
        link = ModbusLink(ModbusPort(port=self.wire.port))
        return link, Controller(link, in_place=self.photograph, window=5.0)

    def close(self) -> None:
        self.subscriber.loop_stop()
        for process in (self.station, self.broker):
            process.kill()
            process.wait()


def figures(parts: int, kills: int) -> dict:
    """What became of the parts, and the milliseconds from trigger to valid result."""
    rng = random.Random(0)
    at = dict(zip(sorted(rng.sample(range(10, parts), kills)), _in_turn(kills), strict=True))
    outcomes: list[tuple[Outcome, bool]] = []
    with tempfile.TemporaryDirectory(prefix="loupe-station-") as folder, closing(Line(Path(folder))) as line:
        link, controller = line.controller()
        for part in range(1, parts + 1):
            began = time.monotonic()
            disturbed = at.get(part)
            if disturbed == "controller":
                link.close()
                link, controller = line.controller()
            elif disturbed:
                delay = rng.uniform(0.0, 0.15)
                threading.Timer(delay, line.kill, (disturbed,)).start()
            outcome = controller.run_part(part, patience=START_SECONDS)
            if outcome is None:
                raise RuntimeError(f"the station was not ready for part {part} within {START_SECONDS:g} s")
            near = any(part - 3 <= other <= part for other in at)
            outcomes.append((outcome, bool(near)))
            time.sleep(max(0.0, 1 / A_SECOND - (time.monotonic() - began)))
        with AuditLog.open() as log:
            recorded = [dict(entry.facts) for entry in log.entries(kind=PART)]
        ends = time.monotonic() + START_SECONDS
        while len(line.heard) < len(recorded) and time.monotonic() < ends:
            time.sleep(0.1)
        heard = list(line.heard.values())
        link.close()
    return {"parts": parts, "kills": dict(Counter(at.values())), **_judged(outcomes, recorded, heard)}


def _judged(outcomes: list[tuple[Outcome, bool]], recorded: list[dict], heard: list[int]) -> dict:
    times = Counter(int(part["part"]) for part in recorded)
    verdicts = {int(part["part"]): part["verdict"] for part in recorded}
    passed = [outcome.part for outcome, _ in outcomes if outcome.accepted]
    quiet = [outcome for outcome, near in outcomes if not near and outcome.result is not None]
    waits = np.array([1000 * outcome.seconds for outcome in quiet])
    rest = waits - np.array([outcome.result.milliseconds for outcome in quiet if outcome.result is not None])
    numbers = [part["number"] for part in recorded]
    return {
        "passed": len(passed),
        "recorded": len(recorded),
        "passed_without_acceptance": sum(verdicts.get(part) != "accept" for part in passed),
        "recorded_twice": sum(count > 1 for count in times.values()),
        "numbers_in_order": numbers == list(range(1, len(numbers) + 1)),
        "without_result": sum(outcome.result is None for outcome, _ in outcomes),
        "mqtt_lost": len(set(numbers) - set(heard)),
        "mqtt_out_of_order": sum(second < first for first, second in itertools.pairwise(heard)),
        "trigger_to_result": _latency(waits),
        "handshake": _latency(rest),
    }


def _latency(values: np.ndarray) -> dict[str, float]:
    """Milliseconds."""
    return {
        "median_ms": float(np.median(values)),
        "p99_ms": float(np.quantile(values, 0.99)),
        "largest_ms": float(values.max()),
        "parts": len(values),
    }


def _in_turn(count: int) -> Iterator[str]:
    return (KINDS[number % len(KINDS)] for number in range(count))


def _photos() -> list[Path]:
    good = [photo.path for photo in taught(FULL).test if photo.label == "good"]
    return [path for pair in zip(good, [photo.path for photo in sample().defects], strict=False) for path in pair]


def _export(path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="loupe-features-") as folder:
        recipe = study(FULL, taught(FULL), FULL.sides[0], FeatureStore(folder)).fit().recipe()
    export(recipe, path, check_images=find_photos(recipe).paths)


def _free_port() -> int:
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def main(arguments: list[str] | None = None) -> None:
    options = parser("station", __doc__)
    options.add_argument("--parts", type=int, default=10_000)
    options.add_argument("--kills", type=int, default=200)
    chosen = options.parse_args(arguments)
    warnings.simplefilter("ignore", UserWarning)
    with tempfile.TemporaryDirectory(prefix="loupe-workspace-") as folder:
        os.environ["LOUPE_WORKSPACE"] = folder
        assert workspace.root() == Path(folder)
        write(chosen.name, figures(chosen.parts, chosen.kills))


if __name__ == "__main__":
    main()
