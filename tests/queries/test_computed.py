from __future__ import annotations

from pathlib import Path

import pytest

from queries.computed import NIGHTLY_VERDICTS, answer_computed
from queries.report.nightly_verdicts import nightly_verdicts
from queries.report.settings import Settings
from tests.support.nightly_farm import nightly_store
from warehouse import Warehouse
from warehouse.errors import ParameterError


@pytest.fixture(scope="module")
def nights() -> Path:
    return nightly_store()


@pytest.mark.slow
def test_the_answer_has_the_columns_that_are_told(nights: Path) -> None:
    with Warehouse.open(nights, read_only=True) as store:
        answer = answer_computed(store, "nightly_verdicts", {}, Settings())
        assert answer == nightly_verdicts(store, None, Settings())
    types = {
        "STRING": "string",
        "INT": "int32",
        "BIGINT": "int64",
        "DOUBLE": "double",
        "BOOLEAN": "bool",
    }
    told = [(column.name, types[column.type]) for column in NIGHTLY_VERDICTS.columns]
    assert [(field.name, str(field.type)) for field in answer.schema] == told


def test_a_parameter_is_checked_as_in_other_queries(nights: Path) -> None:
    with Warehouse.open(nights, read_only=True) as store:
        with pytest.raises(ParameterError, match="did you mean head"):
            answer_computed(store, "nightly_verdicts", {"heads": "x"}, Settings())
        with pytest.raises(ParameterError, match="'x' is not in the store"):
            answer_computed(store, "nightly_verdicts", {"head": "x"}, Settings())
