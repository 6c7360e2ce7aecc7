"""What a station is: one YAML file, checked as a whole before anything starts."""

import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints
from urllib.parse import urlsplit

import yaml

from inspect_core.runtime.json_record import (
    Least,
    check,
    from_table,
    number,
    one_of,
    or_null,
    rules_of,
    to_plain,
    whole,
)

BY_NUMBER, BY_CODE, BY_PRODUCT = "number", "code", "product"
FROM_CONTROLLER, COUNTED, FROM_CODE, FROM_NAME = "controller", "counted", "code", "file name"
LARGEST_REGISTER = 65_535
PORTS = 1, LARGEST_REGISTER


@dataclass(frozen=True)
class RecipeEntry:
    """number: by which a controller asks for it; file: an exported recipe; view: for which it is, "" for all; code:
    text of the code on the part that stands for it.
    """

    number: Annotated[int, whole(1, LARGEST_REGISTER)]
    file: str
    view: str = ""
    code: str = ""


@dataclass(frozen=True)
class View:
    """name: of a view of the part; folder: into which its photos come; ending: of their names without the extension,
    by which views that share a folder are told apart; camera: what writes them there, None where another program does.
    """

    name: str
    folder: str
    ending: str = ""
    camera: str | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for a camera whose photos have no such ending."""
        if self.camera is not None and self.ending:
            raise ValueError(f"view {self.name!r} has a camera, which names photos by their time; leave out `ending`")


@dataclass(frozen=True)
class Retention:
    """Which photos stay: all that are not accepted and every `accepted_every`-th other (0: none), below `folder`, for
    `days` and up to `gigabytes`.
    """

    folder: str
    accepted_every: Annotated[int, whole(0)] = 100
    days: Annotated[float, number(0.01, 36_500)] = 90.0
    gigabytes: Annotated[float, number(0.01, 1e6)] = 50.0
    least_free_gigabytes: Annotated[float, number(0.0, 1e6)] = 1.0


@dataclass(frozen=True)
class ModbusPort:
    """A Modbus TCP server. host: an address of this PC that only the line can reach."""

    host: str = "127.0.0.1"
    port: Annotated[int, whole(*PORTS)] = 5020


@dataclass(frozen=True)
class OpcUaPort:
    """An OPC UA server. certificate, private_key: files, by which it then encrypts; their application URI must be that
    of the client's request. user: who may connect, "" for anybody; password_in: the environment variable that has the
    password.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, whole(*PORTS)] = 4840
    certificate: str = ""
    private_key: str = ""
    user: str = ""
    password_in: str = "LOUPE_OPCUA_PASSWORD"


@dataclass(frozen=True)
class CouplerPort:
    """A Modbus coupler with digital inputs and outputs, where there is no controller. trigger_input: number of its
    input; first_output: of three in a row, ready, accepted and not accepted; hold_seconds: for which a result stands.
    """

    host: str
    port: Annotated[int, whole(*PORTS)] = 502
    trigger_input: Annotated[int, whole(0, LARGEST_REGISTER)] = 0
    first_output: Annotated[int, whole(0, LARGEST_REGISTER)] = 0
    hold_seconds: Annotated[float, number(0.01, 60)] = 0.5


@dataclass(frozen=True)
class MqttBroker:
    """topic: below which is published; tls_ca: file of the authority that signed the broker's certificate, "" for no
    encryption; user, password_in: as of `OpcUaPort`.
    """

    host: str
    port: Annotated[int, whole(*PORTS)] = 1883
    topic: str = "loupe"
    tls_ca: str = ""
    user: str = ""
    password_in: str = "LOUPE_MQTT_PASSWORD"


@dataclass(frozen=True)
class Webhook:
    """url: to which each part is posted; key_in: the environment variable that has the key of the signature, "" for
    none; pictures: whether parts that are not accepted carry a photo.
    """

    url: str
    key_in: str = ""
    pictures: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError for an address that is none of HTTP."""
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise ValueError(f"the webhook {self.url!r:.80} is no http or https address")


@dataclass(frozen=True)
class StationSettings:
    """name: of the station, in log and messages; choose: how the recipe of a part is found, None for the one that is in
    force; part_number: where it comes from; part_pattern: the regular expression whose first group it is in the name of
    a file, without the extension; view_seconds: after the trigger, in which the photo of a view has to come;
    lot: order or lot to begin with; challenge_hours: after which the challenge is due again, 0 for never; trial:
    whether recipes that are not approved may judge, as no production.
    """

    name: str
    recipes: Annotated[tuple[RecipeEntry, ...], Least(1)]
    views: Annotated[tuple[View, ...], Least(1)]
    keep: Retention
    recipe: Annotated[int, whole(1, LARGEST_REGISTER)] = 1
    choose: Annotated[str | None, or_null(one_of(BY_NUMBER, BY_CODE, BY_PRODUCT))] = BY_NUMBER
    part_number: Annotated[str, one_of(FROM_CONTROLLER, COUNTED, FROM_CODE, FROM_NAME)] = FROM_CONTROLLER
    part_pattern: str = "(.+)"
    view_seconds: Annotated[float, number(0.05, 600)] = 2.0
    lot: str = ""
    challenge_hours: Annotated[float, number(0, 1e5)] = 0.0
    trial: bool = False
    modbus: ModbusPort | None = None
    opcua: OpcUaPort | None = None
    coupler: CouplerPort | None = None
    mqtt: tuple[MqttBroker, ...] = ()
    webhooks: tuple[Webhook, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError for parts that do not fit together."""
        names = Counter(view.name for view in self.views)
        if repeated := [name for name, count in names.items() if count > 1 or not name.strip()]:
            raise ValueError(f"two views are called {repeated[0]!r}; rename one")
        for first, second in combinations(self.views, 2):
            apart = first.ending and second.ending and not first.ending.endswith(second.ending)
            apart = apart and not second.ending.endswith(first.ending)
            if os.path.realpath(first.folder) == os.path.realpath(second.folder) and not apart:
                views = f"{first.name!r} and {second.name!r}"
                raise ValueError(f"views {views} share {first.folder}; name another folder, or an `ending` of each")
        if self.part_number == FROM_NAME:
            _require_pattern(self.part_pattern)
        for recipe in self.recipes:
            if recipe.view and recipe.view not in names:
                raise ValueError(f"recipe {recipe.number} is for the view {recipe.view!r}, which there is none of")
        for recipe in {entry.number for entry in self.recipes}:
            for view in names:
                self.file_of(recipe, view)
        if sum(port is not None for port in (self.modbus, self.opcua, self.coupler)) > 1:
            raise ValueError("a station has one controller; keep modbus, opcua or coupler, and read results by MQTT")
        if self.recipe not in {entry.number for entry in self.recipes}:
            raise ValueError(f"recipe {self.recipe} is to be in force, but there is no such number under recipes")

    def file_of(self, recipe: int, view: str) -> Path:
        """The export that judges a view under a number. Raises ValueError where there is none, or more than one."""
        entries = [entry for entry in self.recipes if entry.number == recipe]
        chosen = [entry for entry in entries if entry.view == view] or [entry for entry in entries if not entry.view]
        if len(chosen) != 1:
            raise ValueError(f"recipe {recipe} has {len(chosen)} files for the view {view!r}; give it one")
        return Path(chosen[0].file)


def _require_pattern(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"part_pattern {pattern!r} is no regular expression ({error})") from error
    if groups < 1:
        raise ValueError(f"part_pattern {pattern!r} has no group; put the part number in brackets: (.+)_top")


def secret(variable: str) -> str:
    """A password or key from the environment, where no log or recipe shows it. Raises ValueError without it."""
    value = os.environ.get(variable, "")
    if not value:
        raise ValueError(f"the environment variable {variable} is empty; set it to the password or key")
    return value


def read_settings(path: Path) -> StationSettings:
    """The settings in a file; paths in it are relative to its folder.

    Raises ValueError naming the field that is missing, unknown or not what it must be; OSError when it cannot be read.
    """
    try:
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} is no YAML ({error}); compare it with `loupe station --example`") from error
    table = _with_defaults(StationSettings, table)
    check(table, rules_of(StationSettings), "", path.name)
    settings = from_table(StationSettings, _with_paths(table, path.parent))
    for entry in settings.recipes:
        if not Path(entry.file).exists():
            raise FileNotFoundError(f"{path.name}: there is no recipe {entry.file}; export one and put it there")
    return settings


def _with_defaults(kind: Any, table: Any) -> Any:
    """A table with what its class says of fields that are left out, and texts where YAML read a number."""
    if not isinstance(table, Mapping):
        return table
    hints = get_type_hints(kind)
    known = {field.name: field for field in fields(kind)}
    filled = {name: _below(hints[name], value) if name in known else value for name, value in table.items()}
    defaults = {name: to_plain(field.default) for name, field in known.items() if field.default is not MISSING}
    return defaults | filled


def _below(hint: Any, value: Any) -> Any:
    inner = [kind for kind in get_args(hint) if is_dataclass(kind)]
    if isinstance(value, list) and inner:
        return [_with_defaults(inner[0], entry) for entry in value]
    if is_dataclass(hint) or (inner and isinstance(value, Mapping)):
        return _with_defaults(hint if is_dataclass(hint) else inner[0], value)
    is_text = hint is str or str in get_args(hint)
    return str(value) if is_text and isinstance(value, int) and not isinstance(value, bool) else value


def _with_paths(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    def below(entry: Mapping[str, Any], name: str) -> dict[str, Any]:
        return {**entry, name: os.path.abspath(folder / entry[name])}

    return {
        **table,
        "recipes": [below(entry, "file") for entry in table["recipes"]],
        "views": [below(entry, "folder") for entry in table["views"]],
        "keep": below(table["keep"], "folder"),
    }


EXAMPLE = """\
# A station of Loupe: part in, verdict out. Paths are relative to this file.
name: press 3

# Exported recipes by the number that the controller asks for. `view` only where views have recipes of their own;
# `code` where a code on the part says which recipe it takes.
recipes:
  - {number: 1, file: flange.zip}
  - {number: 2, file: cover.zip}
recipe: 1            # in force at the start
choose: number       # number (over the bus), code (on the part), product (by the product check), null: stays as it is

# One part, one or more views; its verdict is the worst. A view that does not come in time is "not judged".
views:
  # - {name: side, folder: in, ending: _side}     # views that share a folder, by the ending of their names
  - {name: top, folder: in/top, camera: "0"}   # number or rtsp://…; none where another program writes
view_seconds: 2.0
part_number: controller   # controller, counted, code (on the part) or file name
part_pattern: "(.+)"      # by file name: its first group is the number, such as "(.+)_top"
lot: ""
challenge_hours: 0        # after which the challenge parts are due again; 0: never

# Photos that stay. When the disk is full, the station is not ready before anything is lost.
keep: {folder: parts, accepted_every: 100, days: 90, gigabytes: 50}

# The controller: modbus or opcua. Whoever reaches the port can command the station, so name an address of the line.
modbus: {host: 127.0.0.1, port: 5020}
# opcua: {host: 127.0.0.1, port: 4840, user: plc}              # password in LOUPE_OPCUA_PASSWORD
# coupler: {host: 192.168.0.9, trigger_input: 0, first_output: 0}   # no controller: digital inputs and outputs

# Who reads results: any number of brokers and addresses. One that is gone delays nothing.
mqtt: []
# - {host: broker.plant, port: 8883, topic: hall1/press3, tls_ca: ca.pem, user: loupe}   # LOUPE_MQTT_PASSWORD
webhooks: []
# - {url: "https://mes.plant/parts", key_in: LOUPE_WEBHOOK_KEY, pictures: true}
"""
