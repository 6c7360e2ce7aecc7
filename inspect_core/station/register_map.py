"""The register map in Markdown: what an integrator needs, made from the signals themselves."""

from inspect_core.station.signals import COMMANDS_FROM, SIGNALS_FROM, Code, Commands, Place, Signals


def register_map() -> str:
    """Both sides, register by register, then the codes."""
    sides = (Commands, COMMANDS_FROM, "The controller writes"), (Signals, SIGNALS_FROM, "The station writes")
    tables = [
        "\n".join(
            [
                f"**{words}** (OPC UA: `Loupe/{side.__name__}`)",
                "",
                "| register | signal | meaning |",
                "| --- | --- | --- |",
                *(f"| {_where(place, first)} | `{place.name}` | {place.words} |" for place in side.places()),
            ]
        )
        for side, first, words in sides
    ]
    codes = [
        "**Codes** (`code`, `error_code`)",
        "",
        "| code | meaning |",
        "| --- | --- |",
        *(f"| {code.value} | {code.name.lower().replace('_', ' ')} |" for code in Code),
    ]
    return "\n\n".join([*tables, "\n".join(codes)])


def _where(place: Place, first: int) -> str:
    register = first + place.register
    if place.bit is not None:
        return f"{register}, bit {place.bit}"
    return f"{register}" if place.length == 1 else f"{register} and {register + 1}"
