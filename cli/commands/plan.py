"""`tracehouse plan`: how many dumps it takes to see a change."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import StoreOptions, parse_share_option, with_store_options
from cli.stores import open_to_query

_Names = list[str] | None


@with_store_options
def plan(
    change: Annotated[
        str, typer.Option(metavar="SHARE", help="The change to see, such as 5% or 0.05 (slower).")
    ] = "5%",
    device: Annotated[_Names, typer.Option(help="Only these devices; globs too.")] = None,
    pool: Annotated[_Names, typer.Option(help="Only devices of these pools.")] = None,
    model: Annotated[_Names, typer.Option(help="Only these models.")] = None,
    backend: Annotated[_Names, typer.Option(help="Only these backends.")] = None,
    build: Annotated[_Names, typer.Option(help="Only what these builds' dumps say.")] = None,
    *,
    options: StoreOptions,
) -> None:
    """Tell how many dumps of a build it takes to see a change, on each device.

    From the noise of the dumps in the store, for regression_deltas, which finds a change this large
    in nine of ten comparisons then: of Method::execute, of half of the operators, and of nine of
    ten; nothing where 200 dumps are not enough, or where there are fewer than 8. seen_share is
    what the dumps that a build has now (dump_count) are enough for. Changes below 3 % take
    '--min-change' there too.

    What makes dumps differ says more, see 'query variance_components': detectable is the smallest
    change of the method that is found now, if nothing but its noise hides it; helps is what would
    show the change, dumps, pairs ('record --against'), sessions or a pool of devices, or what comes
    nearest; and with_help the smallest change found with that.
    """
    from queries.planning import advise, plan_dumps

    share = parse_share_option(change, "--change")

    names = {"device": device, "pool": pool, "model": model, "backend": backend, "build": build}
    given = {name: values for name, values in names.items() if values}
    with open_to_query(options.store, wait=options.wait) as warehouse:
        values = warehouse.query("dump_values", **given)
        components = warehouse.query("variance_components", **given)
    options.write(advise(plan_dumps(values, change=share), components, change=share))
