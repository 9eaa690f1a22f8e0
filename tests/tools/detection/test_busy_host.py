"""Nights of a host whose load changed all the time, recorded for this: tests/data/busy.tar.xz."""

from __future__ import annotations

import tarfile

import pytest

from queries.report.nightly import nightly_report
from queries.report.settings import Settings
from tests.support.documents import ROOT
from warehouse import Warehouse

NIGHTS = [f"busy-n{night:02}" for night in range(1, 11)]
# What is slower from its night on, by family; whatever holds it is too.
SLOWER = {
    ("conv", "portable"): (
        6,
        {"convolution.out", "relu.out", "max_pool2d_with_indices.out", "permute_copy.out"},
    ),
    ("conv", "xnnpack"): (6, {"Convolution (NHWC, F32) IGEMM", "Max Pooling (NHWC, F32)"}),
    ("enc", "portable"): (7, {"addmm.out", "permute_copy.out", "relu.out"}),
    ("enc", "xnnpack"): (7, {"Fully Connected (NC, F32) GEMM"}),
}


@pytest.fixture(scope="module")
def confirmed(tmp_path_factory):
    """What the report of each night says is confirmed: (model, backend, event, ordinal, night)."""
    folder = tmp_path_factory.mktemp("busy")
    with tarfile.open(ROOT / "tests/data/busy.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    with Warehouse.open(folder / "store", create=True) as store:
        store.ingest([folder / "busy"], archive=False)
        return {night: dict(list_confirmed(store, night)) for night in NIGHTS[2:]}


def list_confirmed(store, night):
    """Operators and what holds them, with the direction and first bad build of their alert."""
    for alert in nightly_report(store, Settings(), head=night).groups:
        if alert.state == "confirmed":
            for member in (*alert.members, *alert.explains):
                yield member, alert


def test_print(confirmed):
    for n, c in confirmed.items():
        for m, a in c.items(): print(n, m, a)
    assert 0
