import json
import unicodedata

import pytest

from tracehouse.warehouse.catalogue.header import Names, parse_header
from tracehouse.warehouse.catalogue.name_filters import resolve_names
from tracehouse.warehouse.catalogue.queries import Query
from tracehouse.warehouse.errors import ParameterError

QUERY = Query(
    parse_header(
        """\
-- probe: A query of every kind of name.
--
-- params:
--   device    STRING[] OF devices.name = NULL      Some devices.
--   base      STRING OF builds.name = NULL         A build.
--   dump      INT OF dumps.dump_id = NULL          A dump.
--   tag       TAG[] OF dumps.tags = NULL           Some tags.
--   group_by  TAG_KEY(pool|os) OF dumps.tags = NULL  A tag.
--   free      STRING[] = NULL                      Some texts.
--
-- columns:
--   c  INT  Some column.
""",
        "probe.sql",
    ),
    "",
)
PLAIN, OTHER, NONE = '{"lab":"north","n":3}', '{"lab":"south","on":true,"o":{"a":[1,"é"]}}', "{}"
STORE = {
    Names("devices", "name"): ["pixel8", "pixel9", "iphone", "a*c", "abc"],
    Names("builds", "name"): ["b1", "b2"],
    Names("dumps", "dump_id"): [1, 2, 4],
    Names("dumps", "tags"): [PLAIN, OTHER, NONE, "no JSON", "[1]", "[" * 10_000 + "]" * 10_000],
}


def _resolve(store=STORE, **values):
    nothing = dict.fromkeys(param.name for param in QUERY.header.params)
    resolved = resolve_names(QUERY, {**nothing, **values}, store.__getitem__)
    (name,) = values
    return resolved[name]


@pytest.mark.parametrize(
    ("values", "resolved"),
    [
        ({"device": ["pixel8"]}, ["pixel8"]),
        ({"device": ["iphone", "pixel?", "pixel8"]}, ["iphone", "pixel8", "pixel9"]),
        ({"device": ["*[0-8]"]}, ["pixel8"]),
        ({"device": ["a*c"]}, ["a*c"]),
        ({"device": ["a*"]}, ["a*c", "abc"]),
        ({"base": "b1"}, "b1"),
        ({"dump": 4}, 4),
        ({"tag": ["lab=north"]}, [PLAIN]),
        ({"tag": ["lab=*"]}, [PLAIN, OTHER]),
        ({"tag": ["lab=north", "lab=south"]}, [PLAIN, OTHER]),
        ({"tag": ["lab=north", "on=true"]}, []),
        ({"tag": ["n=3"]}, [PLAIN]),
        ({"tag": ['o={"a": [1, "é"]}']}, [OTHER]),
        ({"group_by": "pool"}, "pool"),
        ({"group_by": "lab"}, "lab"),
        ({"free": ["*"]}, ["*"]),
        ({"device": None}, None),
    ],
)
def test_names_and_globs_become_names_of_the_store(values, resolved):
    found = _resolve(**values)
    assert (sorted(found) if isinstance(found, list) else found) == (
        sorted(resolved) if isinstance(resolved, list) else resolved
    )


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"device": ["pixel"]}, "'pixel' is not in the store; did you mean pixel9?"),
        (
            {"device": ["pixel8", "zzz"]},
            "'zzz' is not in the store; there are a*c, abc, iphone, pixel8, pixel9",
        ),
        ({"device": ["P*"]}, "'P*' is not in the store"),
        ({"device": [""]}, "'' is not in the store"),
        ({"base": "b*"}, "'b*' is not in the store; there are b1, b2"),
        ({"dump": 3}, "3 is not in the store; there are 1 to 4"),
        (
            {"tag": ["lab=nort"]},
            "tag 'lab=nort' is not in the store; did you mean lab=north?",
        ),
        ({"tag": ["lab=x*"]}, "tag 'lab=x*' is not in the store; there are lab=north, lab=south"),
        (
            {"tag": ["1=zzzz"]},
            "tag '1=zzzz' is not in the store; there are lab=..., n=..., o=..., on=...",
        ),
        ({"group_by": "o_s"}, "no tag or attribute 'o_s'; did you mean os?"),
    ],
)
def test_a_filter_that_matches_nothing_is_an_error_that_lists_the_names(values, problem):
    with pytest.raises(ParameterError) as error:
        _resolve(**values)
    (name,) = values
    assert str(error.value).startswith(f"query 'probe', parameter '{name}': ")
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_any_name_is_unknown_in_an_empty_store():
    empty = dict.fromkeys(STORE, ())
    for values in ({"device": ["a"]}, {"base": "a"}, {"dump": 1}, {"tag": ["a=b"]}):
        with pytest.raises(ParameterError, match="; none exist"):
            _resolve(empty, **values)


def test_long_values_of_tags_are_cut_in_errors():
    store = {**STORE, Names("dumps", "tags"): [json.dumps({"log": "x" * 60_000})]}
    with pytest.raises(ParameterError) as error:
        _resolve(store, tag=["log=y"])
    assert len(str(error.value)) < 300


def test_names_are_found_in_any_form_of_unicode():
    composed, decomposed = (unicodedata.normalize(form, "Büro") for form in ("NFC", "NFD"))
    store = STORE | {
        Names("devices", "name"): [composed, "pixel8"],
        Names("builds", "name"): [composed, f"{decomposed}-raw"],
        Names("dumps", "tags"): [json.dumps({composed: composed}, ensure_ascii=False)],
    }
    assert _resolve(store, device=[decomposed]) == [composed]
    assert _resolve(store, device=[f"{decomposed[:3]}*"]) == [composed]
    assert _resolve(store, base=decomposed) == composed
    assert _resolve(store, base=f"{decomposed}-raw") == f"{decomposed}-raw"
    assert _resolve(store, group_by=decomposed) == composed
    assert len(_resolve(store, tag=[f"{decomposed}={decomposed}"])) == 1


def test_a_parameter_that_takes_one_name_refuses_a_glob():
    with pytest.raises(ParameterError, match="'b\\*' is not in the store"):
        _resolve(base="b*")
