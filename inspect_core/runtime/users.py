"""Who is recorded in recipes and in the audit log."""

import getpass
import ipaddress
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from inspect_core.runtime import atomic_write, workspace

UNKNOWN = "unknown user"
PROXIES = "LOUPE_PROXIES"
LONGEST = 100
"""Characters of a name; what is longer is cut."""

ACCOUNTS = ("root", "administrator", "admin")
"""Logins that name no person."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def clean_name(name: str) -> str:
    """The printable characters of a name on one line, at most LONGEST; empty if none is left."""
    return "".join(character for character in " ".join(name.split()) if character.isprintable())[:LONGEST].strip()


def local_user() -> str:
    """LOUPE_USER, else the name of the login, else the one that `save_local_user` stored, else UNKNOWN.

    A login that names no person comes after the name that was stored.
    """
    login = ""
    with suppress(KeyError, OSError):  # a number without a name
        login = clean_name(getpass.getuser())
    stored = clean_name((workspace.content(_file(), at_most=4 * LONGEST) or b"").decode(errors="ignore"))
    names = (login, stored) if is_person(login) else (stored, login)
    return next(filter(None, (clean_name(os.environ.get("LOUPE_USER", "")), *names)), UNKNOWN)


def is_person(name: str) -> bool:
    """Whether this is the name of somebody, as far as one can tell."""
    return bool(name) and name != UNKNOWN and name.lower() not in ACCOUNTS


def save_local_user(name: str) -> None:
    """Keep in the workspace the name of who works at this machine. Raises OSError when it cannot be written."""
    with atomic_write.atomic_replace(_file()) as new:
        new.write_text(clean_name(name), encoding="utf-8")


def header() -> str:
    """LOUPE_USER_HEADER: the header in which a proxy says who it is; empty without one."""
    return os.environ.get("LOUPE_USER_HEADER", "").strip()


def proxies() -> tuple[Network, ...]:
    """LOUPE_PROXIES: addresses or networks, separated by commas.

    Raises ValueError that names what is neither; and without FORWARDED_ALLOW_IPS=none, which uvicorn reads before the
    app is loaded: it would replace the address of a request from this machine by the one that X-Forwarded-For claims.
    """
    if header() and os.environ.get("FORWARDED_ALLOW_IPS") != "none":
        raise ValueError("LOUPE_USER_HEADER needs FORWARDED_ALLOW_IPS=none too; set it and start Loupe again")
    networks = []
    for part in filter(None, map(str.strip, os.environ.get(PROXIES, "").split(","))):
        try:
            networks.append(ipaddress.ip_network(part))
        except ValueError as error:
            raise ValueError(f"{PROXIES}: {error}; write addresses or networks: 10.0.0.5, 10.1.0.0/16") from error
    return tuple(networks)


def user_from_proxy(values: Sequence[str], address: str | None) -> str:
    """The name in the header's values in a request from this address; UNKNOWN unless one proxy gave one.

    address: None for a request from this machine. Raises ValueError as `proxies`.
    """
    known = [ipaddress.ip_address(value) for value in ([address] if address else ["127.0.0.1", "::1"])]
    plain = [getattr(known_address, "ipv4_mapped", None) or known_address for known_address in known]
    if len(values) != 1 or not any(plain_address in network for plain_address in plain for network in proxies()):
        return UNKNOWN
    name = values[0]
    with suppress(UnicodeError):  # headers are read as Latin-1, and proxies write UTF-8
        name = name.encode("latin-1").decode()
    return clean_name(name) or UNKNOWN


def _file() -> Path:
    return workspace.root() / "user.txt"
