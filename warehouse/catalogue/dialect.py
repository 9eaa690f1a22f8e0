"""What the .sql files write shorter, and what DuckDB spells differently; pure.

The files are written for Spark, in the subset of SQL that both engines interpret alike. This module
lists everything that DuckDB spells differently, and the expressions that many files share:

* `exact_sum(x)`: `sum(x)` of DOUBLEs in the order of their values, the same to the last bit on any
  number of threads and on both engines, for sums of fractions depend on the order in which an
  engine adds them. `whole_sum(x)` is the same, but null if any value is null. In a window neither
  works: order its rows by `x`, with a frame of all rows, instead.
* `count_different(x)`: `count(DISTINCT x)` of small groups: DuckDB would group all rows twice, and
  join both.
* `is_chosen(:names, x)`: whether x is one of the names of a parameter; true without the parameter.
* `same_family(a, b)`: whether two rows are of the same model and backend on the same device;
  `same_event(a, b)`: of the same event of runs that are alike.
* `is_noted(n, d)`: whether a note is on points of a dump.
* `tick_ns(s, d)`: nanoseconds per tick of an event, by its signature and its dump.
* `resolution_ticks(s, d)`: the smallest step of the event's clock, in its ticks.
* `tag_of(tags, key)`: the value of a tag of a dump.
* `runs_of(dumps)`: the runs of these dumps. They are chosen before a join by dump and place, for
  DuckDB would begin with that join, over all dumps.
* `reaches(x, y)`: whether x is y or more, where a last digit lost to rounding does not count:
  110 reaches 1.1 times 100. Compare factors rather than shares: `1 + share` rather than `share`.
* `part_of(x, y)`: x over y; null where the part is longer than its whole, as clocks disagree.
* `is_plausible(time, ingested_at)`: whether a time of a recording or commit can be right; null if
  it is unknown.
* `is_out_of_line(d, b)`: whether a dump was recorded far from the other devices of its build, and
  not just before its ingest, by a clock that may be right otherwise; references and trials are
  recorded at any time.
* `steadiness_of(x, place, n)`: figures of each x in the order of their places, without the first n;
  see `Steadiness`. One aggregation lists the values and their places in the same order.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from tracehouse.ingest.manifest.times import EARLIEST, SLACK

_STRING_OR_COMMENT = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING_OR_PARENTHESIS = re.compile(r"'(?:[^']|'')*'|[()]")
_FIRST = re.compile(r"\s*WITH\s+(?!RECURSIVE\b)(?=\w+\s+AS\s*\()")
_NAME = re.compile(r"\s*,?\s*(\w+)\s+AS\s*\(")

_FAR = 30  # days from the other recordings of a build, beyond which a clock is doubted
_SUM = "aggregate(array_sort(array_agg({0})), 0e0, (a, b) -> a + b) END"
_MACROS = {  # each may use those after it
    "is_chosen": "(CAST({0} AS ARRAY<STRING>) IS NULL "
    "OR array_contains(CAST({0} AS ARRAY<STRING>), {1}))",
    "same_family": "{0}.device = {1}.device AND {0}.model = {1}.model "
    "AND {0}.backend IS NOT DISTINCT FROM {1}.backend",
    "same_event": "{0}.run_signature_id = {1}.run_signature_id "
    "AND {0}.event_signature_id = {1}.event_signature_id",
    "is_noted": "{0}.build = {1}.build AND coalesce({0}.device, {1}.device) = {1}.device "
    "AND ({0}.pool IS NULL OR {0}.pool = {1}.pool) AND coalesce({0}.model, {1}.model) = {1}.model "
    "AND ({0}.backend IS NULL OR {0}.backend = {1}.backend)",
    "tick_ns": "CASE WHEN {0}.unit IS NOT NULL THEN {0}.unit_ns "
    "WHEN {0}.kind = 'delegate_op' THEN {1}.delegate_ns_per_tick ELSE {1}.ns_per_tick END",
    "resolution_ticks": "CASE WHEN {0}.unit IS NOT NULL THEN 1e0 "
    "WHEN {0}.kind = 'delegate_op' THEN {1}.delegate_resolution_ticks "
    "ELSE {1}.resolution_ticks END",
    "tag_of": "try_element_at(from_json({0}, 'MAP<STRING, STRING>'), {1})",
    "runs_of": "(SELECT dump_id, run_index, name, run_signature_id, start_ticks FROM runs "
    "WHERE dump_id IN (SELECT dump_id FROM {0}))",
    "reaches": "({0} >= {1} - 1e-12 * abs({1}))",
    "is_out_of_line": "is_plausible({0}.captured_at, {0}.ingested_at) AND {0}.build_role IS NULL "
    "AND {1}.device_count > 1 AND {0}.captured_at < {0}.ingested_at - INTERVAL 1 DAY "
    f"AND ({{0}}.captured_at < {{1}}.captured_at - INTERVAL {_FAR} DAY "
    f"OR {{0}}.captured_at > {{1}}.captured_at + INTERVAL {_FAR} DAY)",
    "is_plausible": f"({{0}} >= CAST('{EARLIEST:%Y-%m-%d}' AS TIMESTAMP) "
    f"AND {{0}} <= {{1}} + INTERVAL {SLACK.days} DAY)",
    "part_of": "CASE WHEN {0} <= {1} THEN {0} / nullif({1}, 0e0) END",
    "steadiness_of": "steadiness(array_agg({1}), array_agg({0}), {2})",
    "count_different": "CAST(array_size(array_distinct(array_sort(array_agg({0})))) AS BIGINT)",
    "exact_sum": f"CASE WHEN count({{0}}) > 0 THEN {_SUM}",
    "whole_sum": f"CASE WHEN count({{0}}) = count(*) THEN {_SUM}",
}
_OF_DUCKDB = {
    "aggregate(array_sort(array_agg(": "list_sum(list_sort(list(",
    ", 0e0, (a, b) -> a + b)": ")",
    "array_size(": "len(",
    "ARRAY<STRING>": "STRING[]",
    "percentile(": "quantile_cont(",
    "regexp_like(": "regexp_matches(",
    "explode(": "unnest(",
    "array(": "list_value(",
    "get_json_object(": "json_extract_string(",
    "try_element_at(": "map_extract_value(",
    "element_at(": "list_extract(",  # of an array
    "'MAP<STRING, STRING>'": "'\"MAP(VARCHAR, VARCHAR)\"'",
}
_MARKS = re.compile(r"'(?:[^']|'')*'|[(),]")
_TOKENS = re.compile(
    "|".join([*map(re.escape, _OF_DUCKDB), r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|::"])
    + r"|:([A-Za-z_]\w*)",
    re.DOTALL,
)


class Cte(NamedTuple):
    """One CTE: its name and its SELECT."""

    name: str
    sql: str


class Statement(NamedTuple):
    """A SELECT and its CTEs, which may contain CTEs, in the order of the text."""

    ctes: tuple[Cte, ...]
    body: str


def split_ctes(sql: str) -> Statement:
    """A statement split into CTEs and body; a statement WITH RECURSIVE consists of its body only.

    >>> split_ctes("WITH a AS (SELECT 1), b AS (SELECT 2) SELECT 3")
    Statement(ctes=(Cte(name='a', sql='SELECT 1'), Cte(name='b', sql='SELECT 2')), body='SELECT 3')
    """
    text = _STRING_OR_COMMENT.sub(lambda match: match[0] if match[0][0] == "'" else " ", sql)
    first = _FIRST.match(text)
    if first is None:
        return Statement((), text.strip())
    ctes, position = [], first.end()
    while name := _NAME.match(text, position):
        end = closing_place(text, name.end())
        ctes.append(Cte(name[1], text[name.end() : end].strip()))
        position = end + 1
        if text[position:].lstrip()[:1] != ",":
            break
    return Statement(tuple(ctes), text[position:].strip())


def count_uses(name: str, statement: Statement) -> int:
    """How often the body and the later CTEs read the CTE `name`."""
    names = [cte.name for cte in statement.ctes]
    later = statement.ctes[names.index(name) + 1 :]
    word = re.compile(rf"\b(?:FROM|JOIN)\s+{name}\b")
    return sum(len(word.findall(text)) for text in (*(cte.sql for cte in later), statement.body))


def closing_place(text: str, start: int = 0) -> int:
    """Index of the parenthesis that closes the one opened before `start`; else the text's end."""
    depth = 1
    for match in _STRING_OR_PARENTHESIS.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if not depth:
            return match.start()
    return len(text)


def with_macros(sql: str) -> str:
    """The text with the shared expressions written out.

    >>> with_macros("SELECT part_of(a, f(b, c))")
    'SELECT CASE WHEN a <= f(b, c) THEN a / nullif(f(b, c), 0e0) END'
    """
    for name, expression in _MACROS.items():
        sql, *others = sql.split(f"{name}(")
        for rest in others:
            end = closing_place(rest)
            sql += expression.format(*_split_arguments(rest[:end])) + rest[end + 1 :]
    return sql


def _split_arguments(text: str) -> list[str]:
    arguments, start, depth = [], 0, 0
    for mark in _MARKS.finditer(f"{text},"):
        depth += {"(": 1, ")": -1}.get(mark[0], 0)
        if mark[0] == "," and not depth:
            arguments.append(" ".join(text[start : mark.start()].split()))
            start = mark.end()
    return arguments


@lru_cache(maxsize=256)
def duckdb_text(sql: str) -> str:
    """The text for DuckDB; a parameter `:name` becomes `$name`.

    >>> duckdb_text("SELECT ':a', CAST(:a AS ARRAY<STRING>), b::INT -- :a")
    "SELECT ':a', CAST($a AS STRING[]), b::INT -- :a"
    """
    return _TOKENS.sub(_translated, sql)


def without_parameter(sql: str, name: str) -> str:
    """The text with NULL in place of a parameter.

    >>> without_parameter("SELECT ':a', CAST(:a AS INT), CAST(:ab AS INT)", "a")
    "SELECT ':a', CAST(NULL AS INT), CAST(:ab AS INT)"
    """
    return _TOKENS.sub(lambda match: "NULL" if match[1] == name else match[0], sql)


def _translated(match: re.Match[str]) -> str:
    return f"${match[1]}" if match[1] else _OF_DUCKDB.get(match[0], match[0])
