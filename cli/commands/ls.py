"""`tracehouse ls [KIND]`: the devices, builds and models of a store."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tracehouse.cli.options import LakeUri, StoreOptions, add_options, parameter_option
from tracehouse.cli.output.render import Format
from tracehouse.cli.output.store_contents import KINDS, list_contents, tables_for_people
from tracehouse.cli.output.streams import write_lines
from tracehouse.cli.stores import open_to_query
from tracehouse.warehouse.catalogue.queries import find_query

_QUERY = find_query("coverage")


class Kind(StrEnum):
    """What is listed."""

    DEVICES = "devices"
    BUILDS = "builds"
    MODELS = "models"


def ls(
    kind: Annotated[
        Kind | None, typer.Argument(help="What to list; by default all three.", show_default=False)
    ] = None,
    *,
    lake: LakeUri = None,
    options: StoreOptions,
    **params: str | list[str] | None,
) -> None:
    """List the devices, builds and models of a store, with their dumps and when they were recorded.

    'tracehouse query coverage' shows which of them go together.
    """
    given = {name: value for name, value in params.items() if value not in (None, [])}
    with open_to_query(options.store, wait=options.wait, lake=lake) as warehouse:
        coverage = warehouse.query("coverage", **given)
    contents = list_contents(coverage, KINDS if kind is None else (kind.removesuffix("s"),))
    if options.format is not Format.TABLE or not contents.num_rows:
        options.write(contents)
        return
    for number, table in enumerate(tables_for_people(contents)):
        if number:
            write_lines([""])
        options.write(table)


add_options(ls, map(parameter_option, _QUERY.header.params))
