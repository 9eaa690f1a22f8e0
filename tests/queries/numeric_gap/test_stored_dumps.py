from __future__ import annotations

import shutil

import pytest

from tests.support.corpus import CORPUS
from tests.support.cross_section import cross_section
from tests.support.etrecord_builder import MODELS
from tests.support.stores import ingest
from tracehouse import Warehouse
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.numeric_gap.gap import numeric_gap
from tracehouse.queries.numeric_gap.logged_operators import read_logged_operators
from tracehouse.queries.numeric_gap.stored_dumps import stored_operators
from tracehouse.warehouse.errors import QueryError

REAL = CORPUS / "real"


def from_store(tmp_path, name, *, record=None, has_buffer=True):
    """The operators of a dump of the corpus, out of a store; another dump is in it before."""
    dump = tmp_path / f"{name}.etdp"
    shutil.copy(REAL / dump.name, dump)
    if has_buffer:
        shutil.copy(REAL / f"{name}.debug.bin", tmp_path)
    ingest(tmp_path / "store", REAL / "decoder_xnnpack_n1_debug.etdp")
    options = {"etrecord": MODELS / f"{record}.etrecord"} if record else {}
    ingest(tmp_path / "store", dump, **options)
    with Warehouse.open(tmp_path / "store", read_only=True) as store:
        return stored_operators(store, 2)


def from_file(name, *, record=None, has_buffer=True):
    return read_logged_operators(
        Source(str(REAL / f"{name}.etdp")),
        debug_buffer=Source(str(REAL / f"{name}.debug.bin")) if has_buffer else None,
        etrecord=Source(str(MODELS / f"{record}.etrecord")) if record else None,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    cross_section(
        [
            ("prefill_decode_xnnpack_debug", {"record": "prefill_decode_xnnpack"}),
            ("prefill_decode_portable_debug", {}),
            ("prefill_decode_portable_debug", {"has_buffer": False}),
        ],
        3,
    ),
)
def test_operators_are_those_of_the_dump_on_disk(tmp_path, name, options):
    stored, read = from_store(tmp_path, name, **options), from_file(name, **options)
    assert [run._replace(operators=()) for run in stored] == [
        run._replace(operators=()) for run in read
    ]
    for ours, theirs in zip(stored, read, strict=True):
        names = [operator._replace(values=()) for operator in theirs.operators]
        assert [operator._replace(values=()) for operator in ours.operators] == names
    gaps = numeric_gap(read, stored, is_every_run=True)
    verdict = "not_compared" if "has_buffer" in options else "equal"
    assert set(gaps["verdict"].to_pylist()) == {verdict}


def test_a_number_that_no_dump_has_is_refused(tmp_path):
    from_store(tmp_path, "prefill_decode_portable_debug")
    problem = "dump 9: the store has no such dump"
    with (
        Warehouse.open(tmp_path / "store", read_only=True) as store,
        pytest.raises(QueryError, match=problem),
    ):
        stored_operators(store, 9)


def test_a_dump_without_intermediate_values_is_refused(tmp_path):
    ingest(tmp_path / "store", REAL / "level_outputs_only.etdp")
    problem = "dump 1: has no intermediate values"
    with (
        Warehouse.open(tmp_path / "store", read_only=True) as store,
        pytest.raises(QueryError, match=problem),
    ):
        stored_operators(store, 1)
