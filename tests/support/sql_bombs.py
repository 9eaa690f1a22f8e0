"""Statements that pass for questions and take all memory or time, or answer without end."""

# ruff: noqa: S608 - that they are hostile is what they are for

from __future__ import annotations

_HUGE = 1_000_000_000_000

MEMORY = {
    "printf_width": "SELECT length(printf('%2000000000d', 1))",
    "format_width": "SELECT length(format('{:2000000000}', 1))",
    "lpad": "SELECT length(lpad('a', 2000000000, 'b'))",
    "rpad": "SELECT length(rpad('a', 2000000000, 'b'))",
    "repeat": "SELECT length(repeat('abcdefgh', 500000000))",
    "repeat_twice": "SELECT length(repeat(repeat('a', 100000), 100000))",
    "repeat_rows": "SELECT repeat('x', 100000000) FROM range(50)",
    "replace": "SELECT length(replace(repeat('a', 1000000), 'a', repeat('b', 10000)))",
    "concat": "SELECT length(string_agg(repeat('x', 1000), '')) FROM range(10000000)",
    "list_reduce": "SELECT list_reduce(range(50000000), lambda a, b: a + b)",
    "list_transform": "SELECT list_transform(range(50000000), lambda a: repeat('x', 1000))",
    "list_of_all": f"SELECT list(range) FROM range({_HUGE})",
    "list_of_lists": "SELECT list(range(10000)) FROM range(1000000)",
    "generated_list": "SELECT len(generate_series(1, 2000000000))",
    "map_of_all": f"SELECT histogram(range) FROM range({_HUGE})",
    "sort_of_all": "SELECT * FROM range(1000000000) ORDER BY hash(range) LIMIT 5",
    "distinct_of_all": "SELECT count(DISTINCT range) FROM range(10000000000)",
    "groups_of_all": "SELECT range, count(*) FROM range(10000000000) GROUP BY ALL LIMIT 1",
    "window_of_all": "SELECT sum(range) OVER (ORDER BY hash(range)) FROM range(1000000000)",
    "join_of_all": "SELECT count(*) FROM range(1000000000) a JOIN range(1000000000) b "
    "ON hash(a.range) = hash(b.range)",
    "recursive_texts": "WITH RECURSIVE x(t) AS (SELECT 'a' UNION ALL SELECT t || t FROM x) "
    "SELECT length(t) FROM x",
    "recursive_lists": "WITH RECURSIVE x(l) AS (SELECT [1] UNION ALL "
    "SELECT list_concat(l, l) FROM x) SELECT len(l) FROM x",
    "quantiles": f"SELECT quantile_cont(range, [0.1, 0.5]) FROM range({_HUGE})",
    "json": "SELECT length(json_group_array(repeat('x', 10000))) FROM range(10000000)",
    "bits": "SELECT bit_length(bitstring('1', 2000000000))",
    "base64": "SELECT length(to_base64(encode(repeat('a', 1500000000))))",
    "hex": "SELECT length(hex(repeat('a', 1500000000)))",
    "in_list": "SELECT 1 WHERE 1 IN (" + ",".join(map(str, range(3000))) + ")",
    "rows_as_json": "SELECT to_json(list(r)) FROM (SELECT range AS r FROM range(100000000))",
}
TIME = {
    "levenshtein": "SELECT levenshtein(repeat('a', 200000), repeat('b', 200000))",
    "damerau": "SELECT damerau_levenshtein(repeat('ab', 20000), repeat('ba', 20000))",
    "jaro": "SELECT jaro_similarity(repeat('ab', 400000), repeat('ba', 400000))",
    "cross_join": "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b",
    "count_of_all": f"SELECT count(*) FROM range({_HUGE}) WHERE range % 7 = 3",
    "many_joins": "SELECT count(*) FROM " + ", ".join(f"range(2) t{n}" for n in range(400)),
    "many_outer_joins": "SELECT count(*) FROM range(9) t"
    + "".join(f" JOIN range(9) t{n} ON t{n}.range > t.range" for n in range(300)),
    "many_unions": "SELECT 1" + " UNION ALL SELECT 1" * 850,
    "many_intersections": "SELECT 1" + " INTERSECT SELECT 1" * 820,
    "many_ctes": "WITH a0 AS (SELECT 1 AS x)"
    + "".join(f", a{n + 1} AS (FROM a{n} UNION ALL FROM a{n})" for n in range(100))
    + " SELECT count(*) FROM a100",
    "many_columns": "SELECT " + ",".join(["hash(1)"] * 2000),
    "regular_expression": "SELECT regexp_matches(repeat('a', 10000000) || 'b', '(a|a)*(a|a)*c')",
    "regular_expressions": f"SELECT count(*) FROM range({_HUGE}) "
    "WHERE regexp_matches(repeat('a', 1000), '(a*)*b')",
    "like": "SELECT repeat('a', 30000) LIKE repeat('%a', 3000) || 'b'",
    "similar": f"SELECT max(repeat('ab', 50000) SIMILAR TO '(a|b)*c') FROM range({_HUGE})",
    "recursion": "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) "
    "SELECT max(n) FROM x",
    "recursion_of_all": "WITH RECURSIVE x(n) AS (SELECT 1 UNION SELECT n + 1 FROM x) SELECT * "
    "FROM x WHERE n < 0",
    "correlated": "SELECT sum((SELECT count(*) FROM range(1000000) b WHERE b.range > a.range)) "
    "FROM range(1000000) a",
    "lambdas": "SELECT list_sum(list_transform(range(10000), "
    "lambda a: list_sum(list_transform(range(10000), lambda b: a * b))))",
    "series": "SELECT count(*) FROM generate_series(TIMESTAMP '0001-01-01', "
    "TIMESTAMP '9999-01-01', INTERVAL 1 MICROSECOND)",
    "factorials": f"SELECT sum(hash(range * 2) % 3) FROM range({_HUGE})",
    "explained": f"EXPLAIN ANALYZE SELECT count(*) FROM range({_HUGE}) WHERE range % 7 = 3",
    "bars": f"SELECT sum(length(bar(range, 0, 1000, 1000))) FROM range({_HUGE})",
    "samples": f"SELECT count(*) FROM range({_HUGE}) USING SAMPLE 1 ROWS",
    "summary": f"SUMMARIZE SELECT range FROM range({_HUGE})",
}
ENDLESS = {
    "rows": f"SELECT * FROM range({_HUGE})",
    "recursive_rows": "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) FROM x",
    "wide_rows": "SELECT " + ",".join(f"range AS c{n}" for n in range(900))
    + f" FROM range({_HUGE})",
    "long_texts": "SELECT repeat('x', 1000000) FROM range(1000000)",
    "long_lists": "SELECT range(100000) FROM range(1000000)",
    "products": "SELECT * FROM range(1000000) a, range(1000000) b",
}  # fmt: skip
BOMBS = {
    f"{kind}_{name}": text
    for kind, texts in (("memory", MEMORY), ("time", TIME), ("endless", ENDLESS))
    for name, text in texts.items()
}
