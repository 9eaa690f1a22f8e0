"""`tracehouse plan`: how many dumps are needed to see a change."""

from __future__ import annotations

from typing import Annotated

import typer

from tracehouse.cli.options import StoreOptions, parse_share_option
from tracehouse.cli.stores import open_to_query

_Names = list[str] | None


def plan(
    change: Annotated[
        str, typer.Option(metavar="SHARE", help="Slowdown to detect, such as 5% or 0.05.")
    ] = "5%",
    device: Annotated[_Names, typer.Option(help="Only these devices; globs allowed.")] = None,
    pool: Annotated[_Names, typer.Option(help="Only devices of these pools.")] = None,
    model: Annotated[_Names, typer.Option(help="Only these models.")] = None,
    backend: Annotated[_Names, typer.Option(help="Only these backends.")] = None,
    build: Annotated[_Names, typer.Option(help="Only dumps of these builds.")] = None,
    *,
    options: StoreOptions,
) -> None:
    """Compute how many dumps of a build are needed to see a change, on each device.

    The numbers are computed from the noise of the dumps in the store. With that many dumps,
    regression_deltas finds a change of this size in nine of ten comparisons: of Method::execute
    (dumps_for_method), of half of the operators (dumps_for_half), and of nine of ten operators
    (dumps_for_most). A number is missing if 200 dumps are not enough, or if the store has fewer
    than 8. visible_share is the share of operators for which the present dumps of a build
    (dump_count) are enough. For changes below 3 %, regression_deltas needs '--min-change', too.

    Three columns use the sources of noise, see 'query variance_components': smallest_change_share
    is the smallest change of the method that can be found now; remedy is what would show the
    change, or come nearest (more dumps, pairs with 'record --against', sessions, or a pool of
    devices); change_with_remedy_share is the smallest change that can be found that way.
    """
    from tracehouse.queries.planning import advise, plan_dumps

    share = parse_share_option(change, "--change")

    names = {"device": device, "pool": pool, "model": model, "backend": backend, "build": build}
    given = {name: values for name, values in names.items() if values}
    with open_to_query(options.store, wait=options.wait) as warehouse:
        values = warehouse.query("dump_values", **given)
        components = warehouse.query("variance_components", **given)
    planned = advise(plan_dumps(values, change=share), components, change=share)
    options.write(planned, query="plan")
