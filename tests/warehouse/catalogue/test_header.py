import pytest

from tracehouse.warehouse.catalogue.header import (
    Column,
    Filters,
    Names,
    Parameter,
    QueryPart,
    Relation,
    parse_header,
)
from tracehouse.warehouse.errors import HeaderError

FULL = """\
-- operator_hotspots: Operators ranked by time.
--
-- Counts only operators: time inside a delegate
-- is the delegate's.
--
-- Ties are broken by name.
--
-- params:
--   run_id  BIGINT           Run to summarise.
--   top_n   INT = 20         Rows to return,
--                            at least 1.
--   device  STRING = NULL    Only this device.
--   scope   STRING(run|all) = 'run'   What to count.
--
-- columns:
--   operator    STRING   Name, e.g. 'aten::add.out'.
--   time_share  DOUBLE   total_ns over all (= 1), 0 to 1.
SELECT 1 -- not: a header
"""


def test_header_gives_title_and_paragraphs():
    header = parse_header(FULL, "x.sql")
    assert header.name == "operator_hotspots"
    assert header.purpose == "Operators ranked by time."
    assert header.description == (
        "Counts only operators: time inside a delegate is the delegate's."
        "\n\nTies are broken by name."
    )


def test_parameters_carry_type_choices_default_and_continued_doc():
    assert parse_header(FULL, "x.sql").params == (
        Parameter("run_id", "BIGINT", (), True, None, "Run to summarise."),
        Parameter("top_n", "INT", (), False, "20", "Rows to return, at least 1."),
        Parameter("device", "STRING", (), False, None, "Only this device."),
        Parameter("scope", "STRING", ("run", "all"), False, "run", "What to count."),
    )


def test_columns_carry_type_and_doc():
    assert parse_header(FULL, "x.sql").columns == (
        Column("operator", "STRING", "Name, e.g. 'aten::add.out'."),
        Column("time_share", "DOUBLE", "total_ns over all (= 1), 0 to 1.", "share"),
    )


def test_a_column_has_the_unit_that_it_states_or_else_that_of_its_name():
    text = "-- a: B.\n--\n-- columns:\n--   delta DOUBLE(change)  X.\n--   b_ns DOUBLE  Y.\n"
    assert [one.unit for one in parse_header(text, "x.sql").columns] == ["change", "ns"]
    with pytest.raises(HeaderError, match=r"perhaps with \(ns\|bytes\|share\|change\|unit\)"):
        parse_header(text.replace("change", "furlong"), "x.sql")


def test_header_entries_without_text_come_from_the_glossary():
    section = (
        "-- params:\n--   run\n--\n-- columns:\n--   device,\n--   x INT X.\n--   model, run\n"
    )
    header = parse_header(f"-- a: B.\n--\n{section}", "x.sql")
    assert header.params[0].doc == "Only these runs, e.g. 'Execute #2'."
    assert header.columns == (
        Column("device", "STRING", "Name of the device."),
        Column("x", "INT", "X."),
        Column("model", "STRING", "Name of the model."),
        Column("run", "STRING", "Name of the runs, stable across builds."),
    )


def test_header_without_parameters_and_description_is_enough():
    header = parse_header("-- a: B.\n--\n-- columns:\n--   c  INT  D.\nSELECT 1 AS c", "x.sql")
    assert (header.description, header.params) == ("", ())


@pytest.mark.parametrize(
    ("entry", "facts"),
    [
        ("p  INT(1..) = 5  D.", {"least": 1, "most": None, "default": "5", "choices": ()}),
        ("p  DOUBLE(0..1)  D.", {"least": 0, "most": 1, "is_required": True}),
        ("p  INT(..-1)  D.", {"least": None, "most": -1}),
        ("p  TIMESTAMP(>since) = NULL  D.", {"relation": Relation(">", "since"), "choices": ()}),
        ("p  STRING(<>base) OF a.b  D.", {"relation": Relation("<>", "base")}),
        ("p  STRING[] OF a.b = NULL  D.", {"type": "STRING[]", "names": Names("a", "b")}),
        ("p  INT OF a.b  D.", {"names": Names("a", "b"), "is_required": True}),
        ("p  TAG_KEY(x|y) OF a.b = NULL  D.", {"choices": ("x", "y"), "names": Names("a", "b")}),
    ],
)
def test_a_parameter_header_states_range_default_and_choices(entry, facts):
    text = f"-- a: B.\n--\n-- params:\n--   {entry}\n--\n-- columns:\n--   c  INT  D.\n"
    (parameter,) = parse_header(text, "x.sql").params
    assert {name: getattr(parameter, name) for name in facts} == facts
    assert parameter.doc == "D."


@pytest.mark.parametrize(
    ("line", "filters"),
    [
        ("filters: chosen", Filters("chosen", ())),
        ("filters: chosen without build", Filters("chosen", ("build",))),
        ("filters: chosen without build, tag", Filters("chosen", ("build", "tag"))),
    ],
)
def test_header_names_the_filters_it_takes(line, filters):
    text = f"-- a: B.\n--\n-- {line}\n--\n-- columns:\n--   c  INT  D.\n"
    header = parse_header(text, "x.sql")
    assert (header.filters, header.description, header.params) == (filters, "", ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1", "x.sql:1: wanted '-- name: Purpose.'"),
        ("", "x.sql:1: wanted '-- name: Purpose.'"),
        ("-- no title\nSELECT 1", "x.sql:1: wanted '-- name: Purpose.'"),
        ("-- a: B.\nSELECT 1", "x.sql:1: wanted a section '-- columns:'"),
        ("-- a: B.\n--\n-- columns:\n--   c\n", "x.sql:4: wanted '--   name TYPE [= default]"),
        (
            "-- a: B.\n-- columns:\n--   device, c\n",
            "x.sql:3: wanted '--   name TYPE [= default] meaning', or names in sql/glossary.sql",
        ),
        ("-- a: B.\n-- columns:\n--   run, run\n", "x.sql:3: run occurs twice"),
        ("-- a: B.\n-- columns:\n--   c TEXT  D.\n", "x.sql:3: type TEXT, wanted one of STRING"),
        ("-- a: B.\n-- columns:\n--   c INT D.\n--   c INT D.\n", "x.sql:4: c occurs twice"),
        ("-- a: B.\n-- columns:\n--   c INT = 1  D.\n", "x.sql:3: a column has no default"),
        ("-- a: B.\n-- columns:\n--   c INT(1..)  D.\n", "x.sql:3: wanted a type alone"),
        ("-- a: B.\n-- columns:\n--   c TAG[]  D.\n", "x.sql:3: wanted a type alone"),
        ("-- a: B.\n-- columns:\n--   c INT OF a.b  D.\n", "x.sql:3: wanted a type alone"),
        (
            "-- a: B.\n-- params:\n--   p STRING(x|y) = 'z'  D.\n-- columns:\n--   c INT D.\n",
            "x.sql:3: default z is not one of x, y",
        ),
    ],
)
def test_malformed_header_names_file_and_line(text, message):
    with pytest.raises(HeaderError) as error:
        parse_header(text, "x.sql")
    assert str(error.value).startswith(message)


def test_parts_are_those_of_all_their_lines_under_the_names_that_they_are_read_by():
    text = FULL.replace("-- columns:", "-- parts: a AS b, c\n-- parts: d\n--\n-- columns:")
    header = parse_header(text, "x.sql")
    assert header.parts == (QueryPart("a", "b"), QueryPart("c", "c"), QueryPart("d", "d"))
    assert header.params == parse_header(FULL, "x.sql").params
    assert parse_header(FULL, "x.sql").parts == ()
