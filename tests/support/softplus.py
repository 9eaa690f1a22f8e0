"""A store of eight real builds, tests/data/softplus.tar.xz: b7 made a program slower."""

from __future__ import annotations

import atexit
import shutil
import tarfile
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from tests.support.documents import ROOT
from tests.support.store_template import copy_new_store
from tracehouse import Warehouse
from tracehouse.queries.explain.content import Explanation
from tracehouse.queries.explain.explanation import explain_group
from tracehouse.queries.report.content import Report
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.settings import Settings


def unpack_softplus(folder: Path) -> Path:
    """The dumps of the builds, with manifests and ETRecords, in a folder."""
    with tarfile.open(ROOT / "tests" / "data" / "softplus.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "softplus"


@cache
def softplus_store() -> Path:
    """A store of the builds, made once per process; only for reading."""
    folder = Path(mkdtemp(prefix="tracehouse-tests-"))
    atexit.register(shutil.rmtree, folder)
    store = folder / "softplus.store"
    copy_new_store(store)
    with Warehouse.open(store) as warehouse:
        assert warehouse.ingest([unpack_softplus(folder)]).n_dumps == 64
    return store


@cache
def softplus_report() -> Report:
    """The nightly report of the last build."""
    with Warehouse.open(softplus_store(), read_only=True) as store:
        return nightly_report(store, Settings())


@cache
def softplus_group() -> str:
    """The id of the group of the convolution that became slower."""
    return next(each.id for each in softplus_report().groups if each.members[0].cost_ns)


@cache
def softplus_explanation() -> Explanation:
    """The explanation of that group."""
    with Warehouse.open(softplus_store(), read_only=True) as store:
        return explain_group(store, softplus_report(), softplus_group())
