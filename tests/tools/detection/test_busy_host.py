"""What is found in nights of a host whose load changed all the time: tests/data/busy.tar.xz.

What the README of the data says of them is asserted here: what changed, what the report of each
night finds of it, and that it finds nothing else.
"""

from __future__ import annotations

import tarfile

import pytest

from tests.support.documents import ROOT
from tracehouse import Warehouse
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.regressions.series_values import CONTAINERS

FIRST_BAD = {"conv": "busy-n06", "enc": "busy-n07"}
CONVOLUTION = "Convolution (NHWC, F32) IGEMM #2"
UP, DOWN = (("enc", "portable", "native_call_addmm.out", place) for place in (4, 5))
# Operators that do more work in the later builds.
SLOWER = {
    ("conv", "xnnpack", CONVOLUTION, 1),
    UP,
    DOWN,
    *(("enc", "portable", "native_call_permute_copy.out", place) for place in (5, 6)),
}


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """The groups that the report of each night tells, from the third on."""
    folder = tmp_path_factory.mktemp("busy")
    with tarfile.open(ROOT / "tests" / "data" / "busy.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    with Warehouse.open(folder / "store", create=True) as store:
        store.ingest([folder / "busy"])
        heads = [f"busy-n{night:02}" for night in range(3, 11)]
        return {head: nightly_report(store, Settings(), head=head).groups for head in heads}


def list_confirmed(groups):
    """The operators of confirmed changes, each with direction and first bad build."""
    return {
        (one.model, one.backend, one.event_name, one.ordinal): (group.direction, group.first_bad)
        for group in groups
        if group.state == "confirmed"
        for one in group.members
        if one.kind not in CONTAINERS
    }


def test_linear_layers_that_are_wider_are_confirmed_in_their_second_night(nights):
    for head in ("busy-n08", "busy-n09", "busy-n10"):
        found = list_confirmed(nights[head])
        assert found[UP] == found[DOWN] == ("regression", "busy-n07")


def test_a_wider_convolution_of_a_delegate_is_confirmed_in_its_third_night(nights):
    for head in ("busy-n08", "busy-n09", "busy-n10"):
        found = list_confirmed(nights[head])
        assert found["conv", "xnnpack", CONVOLUTION, 1] == ("regression", "busy-n06")


def test_only_the_planted_changes_of_a_busy_host_are_confirmed(nights):
    for groups in nights.values():
        found = list_confirmed(groups)
        assert found.keys() <= SLOWER
        for (model, *_), change in found.items():
            assert change == ("regression", FIRST_BAD[model])
