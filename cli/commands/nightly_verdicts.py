"""`tracehouse query nightly_verdicts`: a night's verdict on every series."""

from __future__ import annotations

from cli.options import Config, Head, LakeUri, StoreOptions
from cli.plots import Plot, check_plot, write_answer
from cli.stores import open_to_read, service_instead_of_store
from queries.computed import NIGHTLY_VERDICTS, answer_computed


def nightly_verdicts(
    head: Head = None,
    config: Config = None,
    lake: LakeUri = None,
    plot: Plot = None,
    *,
    options: StoreOptions,
) -> None:
    """A night's verdict on every operator, and the numbers behind it."""
    check_plot(NIGHTLY_VERDICTS.name, plot)
    service = service_instead_of_store()
    if service is None or lake is not None:
        from queries.report.settings import read_settings

        settings = read_settings(config)
        with open_to_read(options.store, wait=options.wait, lake=lake) as warehouse:
            table = answer_computed(warehouse, NIGHTLY_VERDICTS.name, {"head": head}, settings)
    else:
        from cli.remote.questions import RemoteStore

        service.need_no_settings(config)
        with service.connect(retry_seconds=options.wait) as connection:
            table = RemoteStore(connection).query(NIGHTLY_VERDICTS.name, head=head)
    write_answer(NIGHTLY_VERDICTS.name, table, options, plot=plot)


nightly_verdicts.__doc__ = f"{nightly_verdicts.__doc__}\n\n{NIGHTLY_VERDICTS.description}"
