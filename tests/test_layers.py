"""Dependencies run one way: between packages, between the rooms of a package, and to others."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]

# What a package may import of others.
PACKAGES = {
    "ingest": {"flatbuffers", "numpy", "pyarrow", "pydantic", "pydantic_core"},
    "warehouse": {"ingest", "duckdb", "numpy", "pyarrow"},
    "queries": {"warehouse", "ingest", "duckdb", "numpy", "pyarrow", "pydantic"},
    "cli": {"queries", "warehouse", "ingest", "pyarrow", "rich", "typer"},
    "sql": set(),
    "tracehouse": {"cli", "queries", "warehouse", "ingest", "pyarrow"},
}
# What a room may import of its own package: a folder, or a module beside the folders. Rooms stand
# below those that import them; what none imports comes last.
ROOMS = {
    "ingest": set(),
    "ingest.errors": set(),
    "ingest.allowance": set(),
    "ingest.batching": set(),
    "ingest.durable": set(),
    "ingest.strict_json": set(),
    "ingest.file_magic": set(),
    "ingest.sources": {"allowance", "errors", "file_magic"},
    "ingest.settings_file": {"errors", "file_magic", "sources"},
    "ingest.producers": {"errors", "settings_file"},
    "ingest.signatures": {"producers"},
    "ingest.schemas": set(),
    "ingest.manifest": {"allowance", "errors", "file_magic", "schemas", "sources", "strict_json"},
    "ingest.dump": {"errors", "manifest", "sources"},
    "ingest.watching": {"durable", "errors", "sources"},
    "ingest.debug_buffer": {"allowance", "batching", "schemas"},
    "ingest.etdump": {"signatures"},
    "ingest.tables": {"etdump", "producers", "schemas", "signatures"},
    "ingest.profiler_blob": {"errors", "etdump", "signatures"},
    "ingest.decode": {
        "batching", "errors", "etdump", "file_magic", "profiler_blob", "schemas", "tables",
    },
    "ingest.etrecord": {
        "allowance", "debug_buffer", "errors", "etdump", "file_magic", "schemas", "sources",
        "strict_json",
    },
    "ingest.remote": {"batching", "errors"},
    "ingest.tracer": {"durable", "errors", "etdump", "remote"},
    "ingest.recording": {"errors", "manifest", "sources"},
    "ingest.sample": {"errors"},
    "warehouse": set(),
    "warehouse.errors": set(),
    "warehouse.point": set(),
    "warehouse.statistics": set(),
    "warehouse.alignment": set(),
    "warehouse.children": set(),
    "warehouse.catalogue": {"errors"},
    "warehouse.queryable": {"catalogue"},
    "warehouse.engine": {"alignment", "catalogue", "errors", "statistics"},
    "warehouse.archive": {"engine", "errors"},
    "warehouse.programs": {"catalogue", "engine", "errors"},
    "warehouse.load": {
        "archive", "catalogue", "children", "engine", "errors", "programs", "statistics",
    },
    "warehouse.upkeep": {"archive", "catalogue", "engine", "errors", "load", "point", "programs"},
    "warehouse.inbox": {"archive", "engine", "errors", "load"},
    "warehouse.opening": {
        "archive", "catalogue", "engine", "errors", "load", "programs", "queryable", "upkeep",
    },
    "warehouse.lake": {"catalogue", "engine", "errors"},
    "warehouse.regressions": {"catalogue", "engine", "errors", "queryable", "statistics"},
    "warehouse.spark": {
        "catalogue", "engine", "errors", "lake", "load", "regressions",
    },
    "warehouse.sandbox": {"catalogue", "children", "engine", "errors", "opening"},
    "warehouse.store_answers": {
        "archive", "catalogue", "engine", "errors", "opening", "programs", "regressions",
    },
    "warehouse.store": {
        "", "archive", "catalogue", "engine", "errors", "inbox", "lake", "load", "opening",
        "point", "store_answers", "upkeep",
    },
    "warehouse.readers": {"errors", "opening", "store"},
    "warehouse.consumer": {
        "archive", "engine", "errors", "inbox", "load", "opening", "readers", "store", "upkeep",
    },
    "queries": set(),
    "queries.errors": set(),
    "queries.printable": set(),
    "queries.questions": set(),
    "queries.plain_values": {"printable"},
    "queries.formats": {"plain_values", "printable"},
    "queries.event_blocks": {"errors", "printable"},
    "queries.numeric_gap": {"errors", "event_blocks"},
    "queries.planning": set(),
    "queries.profiler_blob": set(),
    "queries.etrecord": set(),
    "queries.drawing": {"printable"},
    "queries.report": {"drawing", "printable"},
    "queries.cells": {"plain_values", "report"},
    "queries.cell_tables": {"cells", "report"},
    "queries.store_status": {"cells"},
    "queries.explain": {"printable", "report"},
    "queries.comparison": {"report"},
    "queries.answers": {"report"},
    "queries.plots": {"comparison", "drawing", "report"},
    "queries.timeline": {"drawing", "event_blocks", "numeric_gap", "printable", "report"},
    "queries.inspector": {"errors", "event_blocks", "numeric_gap", "printable"},
    "cli": set(),
    "cli.errors": set(),
    "cli.help": set(),
    "cli.listing": set(),
    "cli.output": {"errors", "help"},
    "cli.files": {"output"},
    "cli.options": {"help", "output"},
    "cli.remote": {"errors", "output"},
    "cli.stores": {"errors", "options", "output", "remote"},
    "cli.upkeep": {"options", "output", "remote", "stores"},
    "cli.handover": {"errors", "output", "remote", "stores"},
    "cli.completions": {"options"},
    "cli.manifest_options": {"errors", "files", "help", "options"},
    "cli.paired_recording": {"errors", "options", "output", "stores"},
    "cli.plots": {"output"},
    "cli.health": set(),
    "cli.plain_parameters": set(),
    "cli.parameter_schemas": set(),
    "cli.agents": {"errors", "files", "parameter_schemas", "remote"},
    "cli.serve": {"agents", "errors", "output", "parameter_schemas", "remote", "upkeep"},
    "cli.commands": {
        "agents", "completions", "errors", "files", "handover", "health",
        "help", "listing", "manifest_options", "options", "output", "paired_recording", "plots",
        "remote", "serve", "stores", "upkeep",
    },
    "cli.app": {
        "commands", "completions", "errors", "help", "listing", "options", "output",
        "plain_parameters", "remote",
    },
    "cli.main": {"app"},
    "sql": set(),
    "tracehouse.answers": set(),
    "tracehouse.questions": {"answers"},
    "tracehouse.local": {"answers", "questions"},
    "tracehouse.client": {"answers", "questions"},
    "tracehouse": {"answers", "client", "local", "questions"},
}  # fmt: skip
# What single rooms may import besides.
OTHERS = {
    "ingest.recording": {"executorch", "torch"},
    "warehouse.programs": {"executorch"},
    "warehouse.spark": {"py4j", "pyspark"},
    "queries.numeric_gap": {"executorch"},
    "queries.drawing": {"resvg_py", "svg"},
    "queries.report": {"jinja2", "markupsafe", "svg"},
    "queries.timeline": {"svg"},
    "cli.agents": {"anyio", "mcp", "mcp_types"},
    "cli.serve": {
        "anyio", "jinja2", "markupsafe", "mcp", "prometheus_client", "pydantic",
        "pydantic_settings", "python_multipart", "starlette", "uvicorn", "zstandard",
    },
    "cli.commands": {"anyio", "mcp", "uvicorn"},
    "tracehouse.answers": {"pandas"},
}  # fmt: skip
COMPUTED = "a computed name"
# "path/of/module.py imports name": reason
EXCEPTIONS = {
    f"tracehouse/__init__.py imports {COMPUTED}": "the public names, each when it is asked for",
    f"cli/app.py imports {COMPUTED}": "its commands, each when it is asked for",
    f"queries/numeric_gap/reference_run.py imports {COMPUTED}": "modules of executorch.devtools",
    f"queries/event_blocks/frames.py imports {COMPUTED}": "pandas, torch and so on, at need",
}

# In the repository they stand beside the package that they are parts of, which links to them.
PARTS = PACKAGES.keys() - {"tracehouse"}
# Only such texts are parsed: nearly all files have none.
_NAMES_A_PART = re.compile(
    rf"__import__|import_module|^\s*(from|import)\b.*(?<![\w.])({'|'.join(sorted(PARTS))})\b",
    re.MULTILINE,
)
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def test_modules_import_only_what_their_rooms_may() -> None:
    wrong = {one for path in MODULES for one in forbidden_imports(path)}
    assert wrong <= EXCEPTIONS.keys()


def forbidden_imports(path: Path) -> set[str]:
    """What a module imports that its room may not, in words."""
    module = path.relative_to(ROOT)
    package, room = module.parts[0], room_of(".".join(module.with_suffix("").parts))
    others = PACKAGES[package] | OTHERS.get(room, set()) | sys.stdlib_module_names
    rooms = {room, *(f"{package}.{name}".rstrip(".") for name in ROOMS[room])}
    return {
        f"{module} imports {name}"
        for name in map(in_repository, imported_names(path.read_text(encoding="utf-8")))
        if (top := name.partition(".")[0]) not in others
        and not (top == package and room_of(name) in rooms)
    }


def test_parts_are_imported_as_parts_of_tracehouse() -> None:
    """As `ingest`, a part would be a second copy, with other classes and caches."""
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for folder in (*PACKAGES, "action", "deploy", "docs", "tests")
        for path in (ROOT / folder).rglob("*.py")
        if _NAMES_A_PART.search(text := path.read_text(encoding="utf-8"))
        for name in map(in_repository, imported_names(text))
        if name.startswith("`")
    }
    assert wrong == set()


def test_every_room_has_its_line_in_the_table() -> None:
    found = {room_of(".".join(path.relative_to(ROOT).with_suffix("").parts)) for path in MODULES}
    assert found == ROOMS.keys()
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} == PACKAGES.keys()


def test_architecture_has_a_row_for_every_folder() -> None:
    """The docstring of a module beside the folders says its purpose."""
    folders = [room for room in ROOMS if (ROOT / room.replace(".", "/")).is_dir()]
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = text.partition("\n## The rooms\n")[2].partition("\n## ")[0]
    described = re.findall(r"^\| \**`([\w.]+)`\** \| \S", table, re.MULTILINE)
    assert sorted(described) == sorted(folders)
    named = re.findall(r"(?<![\w/])(ingest|warehouse|queries|cli)/(\w+)", text)
    assert {f"{package}.{room}" for package, room in named} <= ROOMS.keys()


def test_rooms_stand_below_those_that_import_them() -> None:
    order = {room: number for number, room in enumerate(ROOMS)}
    for room, imported in ROOMS.items():
        package = room.partition(".")[0]
        assert all(order[f"{package}.{name}".rstrip(".")] < order[room] for name in imported), room


def test_walk_sees_every_kind_of_import() -> None:
    text = (
        "import a.b, c\nfrom d.e import f\nfrom . import g\ndef h():\n    import i\n"
        "    __import__('j')\n    import_module('k.l')\n    importlib.import_module('m' + n)"
    )
    expected = [".", COMPUTED, "a.b", "c", "d.e", "i", "j", "k.l"]
    assert sorted(imported_names(text)) == expected


def in_repository(name: str) -> str:
    """An imported name as the path of its file says it, without `tracehouse.` if that is a link."""
    part = name.removeprefix("tracehouse.")
    if part.partition(".")[0] not in PARTS:
        return name
    return part if part != name else f"`{name}` without `tracehouse.`"


def room_of(module: str) -> str:
    """The package, module beside its folders or folder that a module is in."""
    package, *rest = module.split(".")
    is_inside = rest and rest[0] != "__init__"
    return f"{package}.{rest[0]}" if is_inside else package


@cache
def imported_names(text: str) -> Sequence[str]:
    return [*_imported_names(text)]


def _imported_names(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")
        elif isinstance(node, ast.Call) and node.args:
            yield from _imported_by_call(node)


def _imported_by_call(node: ast.Call) -> Iterator[str]:
    function, name = node.func, node.args[0]
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if called in {"__import__", "import_module"}:
        yield str(name.value) if isinstance(name, ast.Constant) else COMPUTED
