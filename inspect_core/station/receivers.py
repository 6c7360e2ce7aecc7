"""Where recorded parts are sent: an MQTT broker, or an address that takes JSON. Passwords come from the environment."""

import base64
import hashlib
import hmac
import json
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from inspect_core.station.settings import MqttBroker, Webhook, secret

CONFIRM_SECONDS = 5.0
KEEP_ALIVE = 10
SIGNATURE = "X-Loupe-Signature"


class MqttReceiver:
    """Publishes each part under `<topic>/part` at QoS 1, and whether the station is there, retained, under
    `<topic>/state`, which the broker sets to "offline" when the connection is lost.
    """

    def __init__(self, settings: MqttBroker) -> None:
        self.name = f"mqtt {settings.host} {settings.topic}"
        self._settings = settings
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
        if settings.user:
            client.username_pw_set(settings.user, secret(settings.password_in))
        if settings.tls_ca:
            client.tls_set(ca_certs=settings.tls_ca)
        client.will_set(f"{settings.topic}/state", "offline", qos=1, retain=True)
        client.on_connect = self._connected
        client.on_disconnect = self._disconnected
        client.reconnect_delay_set(1, 10)
        self._there = threading.Event()
        self._problem = "not connected yet"
        self._client = client
        client.connect_async(settings.host, settings.port, KEEP_ALIVE)
        client.loop_start()

    def send(self, message: dict[str, Any]) -> None:
        if not self._there.wait(CONFIRM_SECONDS):
            raise OSError(f"the broker {self._settings.host}:{self._settings.port} is not there ({self._problem})")
        properties = Properties(PacketTypes.PUBLISH)
        properties.UserProperty = [("id", message["id"])]
        topic = f"{self._settings.topic}/part"
        published = self._client.publish(topic, json.dumps(message), qos=1, properties=properties)
        try:
            published.wait_for_publish(CONFIRM_SECONDS)
        except (RuntimeError, ValueError) as error:
            raise OSError(f"the broker took no message ({error})") from error
        if not published.is_published():
            raise OSError("the broker did not confirm the message")

    def close(self) -> None:
        if self._there.is_set():
            self._client.publish(f"{self._settings.topic}/state", "offline", qos=1, retain=True).wait_for_publish(1.0)
        self._client.disconnect()
        self._client.loop_stop()

    def _connected(self, client: mqtt.Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self._problem = str(reason)
            return
        client.publish(f"{self._settings.topic}/state", "online", qos=1, retain=True)
        self._there.set()

    def _disconnected(self, client: mqtt.Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._problem = str(reason)
        self._there.clear()


class WebhookReceiver:
    """Posts each part as JSON. `X-Loupe-Signature` is the HMAC-SHA256 of the body in hex, where a key is set; with
    `pictures`, parts that are not accepted carry the photo of the view that decides, in base64. Any answer of 2xx
    confirms.
    """

    def __init__(self, settings: Webhook) -> None:
        self.name = f"webhook {urlsplit(settings.url).netloc}"
        self._settings = settings
        self._key = secret(settings.key_in).encode() if settings.key_in else b""

    def send(self, message: dict[str, Any]) -> None:
        if self._settings.pictures and message.get("path"):
            path = Path(message["path"])
            if path.is_file():
                message = {**message, "picture": base64.b64encode(path.read_bytes()).decode()}
        body = json.dumps(message).encode()
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers[SIGNATURE] = hmac.new(self._key, body, hashlib.sha256).hexdigest()
        request = urllib.request.Request(self._settings.url, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=CONFIRM_SECONDS) as answer:
                answer.read()
        except urllib.error.HTTPError as error:
            raise OSError(f"it answers {error.code}") from error
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            reason = getattr(error, "reason", error)
            raise OSError(getattr(reason, "strerror", None) or str(reason)) from error

    def close(self) -> None:
        """Nothing is held open between two messages."""
