"""Recorded parts at a real MQTT broker and a real HTTP server, both killed and started again."""

import hashlib
import hmac
import http.server
import json
import shutil
import subprocess
import threading
import time
from contextlib import closing

import paho.mqtt.client as mqtt
import pytest

from inspect_core.audit.entry import PART
from inspect_core.audit.log import AuditLog
from inspect_core.station.outbox import Outbox
from inspect_core.station.receivers import SIGNATURE, MqttReceiver, WebhookReceiver
from inspect_core.station.settings import MqttBroker, Webhook
from tests.station.conftest import free_port

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")


class Endpoint:
    """An HTTP server that keeps what is posted; `refusing` answers 503, `stop` ends it."""

    def __init__(self, port: int):
        self.port, self.bodies, self.signatures, self.refusing = port, [], [], False
        self.start()

    def start(self) -> None:
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if endpoint.refusing:
                    self.send_error(503)
                    return
                endpoint.bodies.append(json.loads(body))
                endpoint.signatures.append((self.headers[SIGNATURE], body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def endpoint():
    made = Endpoint(free_port())
    yield made
    made.stop()


@pytest.fixture
def log():
    with AuditLog.open() as opened:
        yield opened


def record(log: AuditLog, numbers, station: str = "press") -> None:
    for number in numbers:
        log.append(PART, {"station": station, "number": number, "verdict": "accept"}, user="line")


def wait_until(holds, seconds: float = 20.0) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.02)


def numbers_of(messages) -> list[int]:
    return [message["number"] for message in messages]


def test_a_webhook_gets_every_part_in_order_and_signed(endpoint, log, monkeypatch):
    monkeypatch.setenv("LOUPE_KEY", "secret of the plant")
    receiver = WebhookReceiver(Webhook(f"http://127.0.0.1:{endpoint.port}/parts", key_in="LOUPE_KEY"))
    record(log, [90])
    with closing(Outbox("press", receiver, log)) as outbox:
        record(log, range(1, 6))
        record(log, [77], station="other")
        wait_until(lambda: len(endpoint.bodies) == 5)
        assert "5 sent" in outbox.state
        endpoint.refusing = True
        record(log, range(6, 9))
        wait_until(lambda: "503" in outbox.state)
        endpoint.refusing = False
        wait_until(lambda: len(endpoint.bodies) == 8)
        endpoint.stop()
        record(log, range(9, 12))
        wait_until(lambda: "no connection" in outbox.state)
        endpoint.start()
        wait_until(lambda: len(endpoint.bodies) == 11)
    assert numbers_of(endpoint.bodies) == list(range(1, 12)), "from its start on, of this station"
    assert len({message["id"] for message in endpoint.bodies}) == 11
    signature, body = endpoint.signatures[0]
    assert signature == hmac.new(b"secret of the plant", body, hashlib.sha256).hexdigest()


def test_an_outbox_goes_on_where_it_was(endpoint, log):
    def opened() -> Outbox:
        return Outbox("press", WebhookReceiver(Webhook(f"http://127.0.0.1:{endpoint.port}/")), log)

    with closing(opened()):
        record(log, [1, 2])
        wait_until(lambda: len(endpoint.bodies) == 2)
    record(log, [3, 4])
    with closing(opened()):
        wait_until(lambda: len(endpoint.bodies) == 4)
    assert numbers_of(endpoint.bodies) == [1, 2, 3, 4]


def test_a_receiver_that_raises_anything_is_asked_again(log):
    class Odd:
        name, sent, raised = "odd", [], False

        def send(self, message):
            if not self.raised:
                self.raised = True
                raise ValueError("nobody expected this")
            self.sent.append(message["number"])

        def close(self):
            pass

    odd = Odd()
    with closing(Outbox("press", odd, log)):
        record(log, [1, 2])
        wait_until(lambda: odd.sent == [1, 2])


def test_a_missing_secret_is_said_before_anything_starts(monkeypatch):
    monkeypatch.delenv("LOUPE_KEY", raising=False)
    with pytest.raises(ValueError, match="LOUPE_KEY"):
        WebhookReceiver(Webhook("http://127.0.0.1/", key_in="LOUPE_KEY"))


class Broker:
    """Mosquitto on a port of its own, with its state on disk."""

    def __init__(self, folder, port: int):
        self.port, self._configuration = port, folder / "mosquitto.conf"
        (folder / "state").mkdir()
        self._configuration.write_text(
            f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence true\nuser root\n"
            f"persistence_location {folder}/state/\nautosave_interval 1\n"
        )
        self.start()

    def start(self) -> None:
        command = [MOSQUITTO, "-c", str(self._configuration)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)

    def pause(self, stopped: bool) -> None:
        self.process.send_signal(19 if stopped else 18)


@pytest.fixture
def broker(tmp_path):
    if MOSQUITTO is None:
        pytest.skip("needs mosquitto")
    made = Broker(tmp_path, free_port())
    yield made
    made.pause(False)
    made.stop()


@pytest.fixture
def subscriber(broker):
    """What a subscriber with a session of its own hears, [(topic, payload)]."""
    heard = []
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="mes", clean_session=False)
    client.reconnect_delay_set(1, 1)
    client.on_connect = lambda client, *_: client.subscribe("hall/#", qos=1)
    client.on_message = lambda client, data, message: heard.append((message.topic, message.payload))
    client.connect_async("127.0.0.1", broker.port)
    client.loop_start()
    yield heard
    client.disconnect()
    client.loop_stop()


@pytest.mark.slow
@pytest.mark.usefixtures("unhurried")
def test_a_broker_that_is_blocked_and_restarted_loses_no_part(broker, subscriber, log):
    wait_until(lambda: broker.process.poll() is None)
    with closing(Outbox("press", MqttReceiver(MqttBroker("127.0.0.1", broker.port, "hall/press")), log)) as outbox:

        def heard() -> list[int]:
            return [json.loads(payload)["number"] for topic, payload in subscriber if topic == "hall/press/part"]

        def states() -> list[bytes]:
            return [payload for topic, payload in subscriber if topic == "hall/press/state"]

        wait_until(lambda: b"online" in states())
        record(log, range(1, 21))
        wait_until(lambda: len(heard()) == 20)
        broker.stop()
        record(log, range(21, 41))
        wait_until(lambda: "no connection" in outbox.state)
        broker.start()
        wait_until(lambda: len(set(heard())) == 40)
        broker.pause(True)
        record(log, range(41, 46))
        time.sleep(1)
        broker.pause(False)
        wait_until(lambda: len(set(heard())) == 45)
    wait_until(lambda: states()[-1] == b"offline")
    messages = [json.loads(payload) for topic, payload in subscriber if topic == "hall/press/part"]
    by_id = {message["id"]: message["number"] for message in messages}
    assert list(by_id.values()) == list(range(1, 46)), "in order, and each under an id of its own"
