"""The command line: one module per command, each with `SUMMARY`, `add_arguments(parser)` and `run(args)`."""

from __future__ import annotations

COMMANDS: dict[str, str] = {
    "lab": "lsat_explorer.commands.lab",
    "data": "lsat_explorer.commands.data",
    "tune": "lsat_explorer.commands.tune",
    "show": "lsat_explorer.commands.show",
    "predict": "lsat_explorer.commands.predict",
    "bench": "lsat_explorer.commands.bench",
}
