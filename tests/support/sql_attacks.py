"""Statements that want more than an answer: every one must be refused, and leave no trace.

`{database}`, `{folder}` and `{secret}` stand for the store's file, a folder that can be written,
and a file whose content must not come out.
"""

from __future__ import annotations

# What would write if it ran.
WRITES = {
    "copy_over_database": "COPY (SELECT 'ruined') TO '{database}' (USE_TMP_FILE false)",
    "copy_over_log": "COPY (SELECT 'ruined') TO '{database}.wal' (USE_TMP_FILE false)",
    "copy_to_file": "COPY (SELECT 'x') TO '{folder}/out.csv'",
    "delete": "DELETE FROM dumps RETURNING dump_id",
    "insert": "INSERT INTO schema_views VALUES ('x') RETURNING 1",
}
# Where a SELECT, or what the Python module takes for one, can hide it.
PLACES = {
    "cte": "WITH x AS ({}) SELECT 1",
    "used_cte": "WITH x AS ({}) SELECT * FROM x",
    "materialized_cte": "WITH x AS MATERIALIZED ({}) SELECT 1",
    "nested_cte": "WITH a AS (WITH b AS ({}) SELECT 1) SELECT * FROM a",
    "recursive_cte": "WITH RECURSIVE x AS ({}) SELECT 1",
    "subquery": "SELECT (WITH x AS ({}) SELECT 1)",
    "argument": "SELECT coalesce(NULL, (WITH x AS ({}) SELECT 1))",
    "exists": "SELECT 1 WHERE EXISTS (WITH x AS ({}) SELECT 1)",
    "from": "SELECT * FROM (WITH x AS ({}) SELECT 1)",
    "lateral": "SELECT * FROM range(1) AS t, LATERAL (WITH x AS ({}) SELECT t.range)",
    "union": "SELECT 1 UNION ALL (WITH x AS ({}) SELECT 1)",
    "order": "SELECT 1 ORDER BY (WITH x AS ({}) SELECT 1)",
    "having": "SELECT count(*) FROM dumps HAVING (WITH x AS ({}) SELECT 1) = 1",
    "list": "SELECT [(WITH x AS ({}) SELECT 1)]",
    "lambda": "SELECT list_transform([1], lambda y: (WITH x AS ({}) SELECT 1))",
    "second_statement": "SELECT 1; {}",
    "explain_analyze": "EXPLAIN ANALYZE {}",
    "describe": "DESCRIBE (WITH x AS ({}) SELECT 1)",
    "explain": "EXPLAIN {}",
    "explain_cte": "EXPLAIN WITH x AS ({}) SELECT 1",
    "explain_analyze_cte": "EXPLAIN ANALYZE WITH x AS ({}) SELECT 1",
    "explain_options": "EXPLAIN (ANALYZE) {}",
    "explain_second": "EXPLAIN SELECT 1; {}",
    "explain_nested_comment": "/* /* */ EXPLAIN SELECT 1 */ EXPLAIN ANALYZE {}",
    "pivot_source": "PIVOT (WITH x AS ({}) SELECT 1 AS a) ON a IN (1) USING count(*)",
    "pivot_columns": "PIVOT dumps ON source IN (WITH x AS ({}) SELECT 'a') USING count(*)",
    "pivot_value": "PIVOT dumps ON source IN ('a') USING sum((WITH x AS ({}) SELECT 1))",
    "unpivot": "UNPIVOT (WITH x AS ({}) SELECT 1 AS a) ON a",
}
# Functions that run a text; quotes in it are doubled.
RUNNERS = {
    "serialized": "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('{}'))",
    "serialized_cte": "SELECT * FROM json_execute_serialized_sql("
    "json_serialize_sql('WITH x AS ({}) SELECT 1'))",
    "pragma_serialized": "PRAGMA json_execute_serialized_sql(json_serialize_sql('{}'))",
    "query": "SELECT * FROM query('{}')",
    "query_cte": "SELECT * FROM query('WITH x AS ({}) SELECT 1')",
    "prepare": "PREPARE p AS {}",
}

STATEMENTS = {
    "serialized_delete": "SELECT * FROM json_execute_serialized_sql(json_serialize_sql("
    "'WITH x AS (DELETE FROM dumps RETURNING 1) SELECT * FROM x'))",
    "serialized_in_cte": "WITH q AS (SELECT * FROM json_execute_serialized_sql("
    "json_serialize_sql('SELECT 1'))) SELECT * FROM q",
    "serialized_in_upper_case": "SELECT * FROM JSON_EXECUTE_SERIALIZED_SQL("
    "json_serialize_sql('SELECT 1'))",
    "serialized_quoted": 'SELECT * FROM "json_execute_serialized_sql"('
    "json_serialize_sql('SELECT 1'))",
    "serialized_qualified": "SELECT * FROM system.main.json_execute_serialized_sql("
    "json_serialize_sql('SELECT 1'))",
    "query_table": "SELECT * FROM query_table('dumps')",
    # Logging and profiling
    "log_to_file": "SELECT * FROM enable_logging(storage = 'file', storage_path = '{folder}/log')",
    "log_call": "CALL enable_logging(storage = 'file', storage_path = '{folder}/log')",
    "log_level": "SELECT * FROM enable_logging('QueryLog')",
    "log_write": "SELECT write_log('x')",
    "log_off": "SELECT * FROM disable_logging()",
    "log_truncate": "SELECT * FROM truncate_duckdb_logs()",
    "log_read": "SELECT * FROM duckdb_logs()",
    "profile": "SELECT * FROM enable_profiling()",
    "profile_output": "SET profiling_output = '{folder}/profile.json'",
    "profile_pragma": "PRAGMA enable_profiling = 'json'",
    "query_log": "SET log_query_path = '{folder}/queries.log'",
    # Settings
    "external_on": "SET enable_external_access = true",
    "unlock": "SET lock_configuration = false",
    "reset": "RESET enable_external_access",
    "filesystems": "RESET disabled_filesystems",
    "memory": "SET memory_limit = '1PB'",
    "temp": "SET temp_directory = '{folder}'",
    "home": "SET home_directory = '{folder}'",
    "extension_directory": "SET extension_directory = '{folder}'",
    "secret_directory": "SET secret_directory = '{folder}'",
    "variable": "SET VARIABLE a = 1",
    "pragma": "PRAGMA threads = 1",
    "pragma_list": "PRAGMA database_list",
    # Other databases
    "attach": "ATTACH '{folder}/other.duckdb'",
    "attach_own": "ATTACH '{database}' AS again",
    "attach_memory": "ATTACH ':memory:' AS m",
    "attach_postgres": "ATTACH 'dbname=x host=127.0.0.1' AS p (TYPE postgres)",
    "attach_sqlite": "ATTACH '{folder}/x.sqlite' AS s (TYPE sqlite)",
    "attach_url": "ATTACH 'https://127.0.0.1:9/x.duckdb' AS h",
    "detach": "DETACH warehouse",
    "use": "USE memory",
    "connect": "CONNECT 'x'",
    "disconnect": "DISCONNECT",
    "read_duckdb": "SELECT * FROM read_duckdb('{database}', table_name = 'dumps')",
    # Secrets
    "secret": "CREATE SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "persistent_secret": "CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "drop_secret": "DROP SECRET s",
    "list_secrets": "SELECT * FROM duckdb_secrets()",
    "which_secret": "SELECT * FROM which_secret('s3://x/y', 's3')",
    # Extensions
    "install": "INSTALL httpfs",
    "force_install": "FORCE INSTALL httpfs FROM 'http://127.0.0.1:9'",
    "load": "LOAD httpfs",
    "load_path": "LOAD '{folder}/evil.duckdb_extension'",
    "update_extensions": "UPDATE EXTENSIONS",
    "http": "SELECT * FROM 'https://127.0.0.1:9/x.csv'",
    "s3": "SELECT * FROM 's3://bucket/x.parquet'",
    # Python's variables
    "replacement_text": "SELECT * FROM text",
    "replacement_table": "SELECT * FROM secret_rows",
    "replacement_frame": "SELECT * FROM self",
    "replacement_statement": "SELECT * FROM statements",
    "pandas_scan": "SELECT * FROM pandas_scan(1)",
    "arrow_scan": "SELECT * FROM arrow_scan(1, 2, 3)",
    "python_arrow_scan": "SELECT * FROM python_arrow_scan(1, 2)",
    "python_map": "SELECT * FROM python_map_function(1, 2)",
    # Files
    "read_text": "SELECT content FROM read_text('{secret}')",
    "read_environment": "SELECT content FROM read_text('/proc/self/environ')",
    "read_own_files": "SELECT * FROM glob('/proc/self/fd/*')",
    "getenv": "SELECT getenv('PATH')",
    "read_blob": "SELECT content FROM read_blob('{secret}')",
    "read_csv": "SELECT * FROM read_csv('{secret}', header = false)",
    "read_csv_auto": "SELECT * FROM read_csv_auto('{secret}')",
    "read_json": "SELECT * FROM read_json('{secret}')",
    "read_json_objects": "SELECT * FROM read_json_objects('{secret}')",
    "read_ndjson": "SELECT * FROM read_ndjson('{secret}')",
    "read_parquet": "SELECT * FROM read_parquet('{secret}')",
    "parquet_scan": "SELECT * FROM parquet_scan('{secret}')",
    "parquet_schema": "SELECT * FROM parquet_schema('{secret}')",
    "parquet_metadata": "SELECT * FROM parquet_metadata('{secret}')",
    "single_csv": "SELECT * FROM read_single_csv_file('{secret}')",
    "sniff": "SELECT * FROM sniff_csv('{secret}')",
    "glob": "SELECT * FROM glob('{folder}/*')",
    "file_name": "SELECT * FROM '{secret}'",
    "quoted_file_name": 'SELECT * FROM "{secret}"',
    "file_in_cte": "WITH x AS (SELECT * FROM read_text('{secret}')) SELECT * FROM x",
    "file_in_argument": "SELECT length((SELECT content FROM read_text('{secret}')))",
    "file_of_list": "SELECT * FROM read_csv(['{secret}'])",
    "database_as_blob": "SELECT * FROM read_blob('{database}')",
    "copy_from": "COPY dumps FROM '{secret}'",
    "import": "IMPORT DATABASE '{folder}'",
    "export": "EXPORT DATABASE '{folder}/export'",
    "describe_file": "DESCRIBE SELECT * FROM read_csv('{secret}')",
    "summarize_file": "SUMMARIZE SELECT * FROM read_csv('{secret}')",
    "copy_to_parquet": "COPY (SELECT 1 AS a) TO '{folder}/out.parquet' (FORMAT parquet)",
    "copy_parts": "COPY (SELECT 1 AS a) TO '{folder}/parts' (FORMAT csv, PARTITION_BY (a))",
    # What changes the store or the session
    "update": "UPDATE dumps SET source = 'x' RETURNING 1",
    "create_table": "CREATE TABLE x (a INT)",
    "create_temp": "CREATE TEMP TABLE x AS SELECT 1",
    "create_as": "CREATE TABLE x AS SELECT * FROM dumps",
    "create_view": "CREATE VIEW x AS SELECT 1",
    "replace_view": "CREATE OR REPLACE TEMP VIEW named_dumps AS SELECT 1 AS a",
    "create_macro": "CREATE MACRO f(a) AS a",
    "create_type": "CREATE TYPE t AS ENUM ('a')",
    "create_sequence": "CREATE SEQUENCE s",
    "create_schema": "CREATE SCHEMA s",
    "create_index": "CREATE INDEX i ON dumps (dump_id)",
    "drop_table": "DROP TABLE dumps",
    "drop_view": "DROP VIEW named_dumps",
    "alter": "ALTER TABLE dumps ADD COLUMN x INT",
    "truncate": "TRUNCATE dumps",
    "merge": "MERGE INTO dumps USING dumps AS d ON false WHEN MATCHED THEN DELETE",
    "comment": "COMMENT ON TABLE dumps IS 'x'",
    "checkpoint": "CHECKPOINT",
    "force_checkpoint": "FORCE CHECKPOINT",
    "checkpoint_function": "SELECT * FROM checkpoint()",
    "force_checkpoint_function": "SELECT * FROM force_checkpoint()",
    "vacuum": "VACUUM",
    "analyze": "ANALYZE",
    "begin": "BEGIN",
    "commit_first": "COMMIT; DELETE FROM dumps",
    "rollback_first": "ROLLBACK; DELETE FROM dumps",
    "execute": "EXECUTE p",
    "deallocate": "DEALLOCATE p",
    "call": "CALL range(1)",
    "nextval": "SELECT nextval('s')",
    "setval": "SELECT setval('s', 1)",
    "external_resource": "SELECT * FROM create_external_resource('x')",
    "register_resource": "SELECT * FROM register_external_resource('x')",
    "seq_scan": "SELECT * FROM seq_scan('dumps')",
    # Texts that are hard to read
    "deep_lists": "SELECT " + "[" * 3000 + "]" * 3000,
    "deep_parentheses": "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    "deep_sum": "SELECT " + "+".join(["1"] * 3000),
    "unclosed_comment": "SELECT 1 /* ",
    "nothing": "",
    "only_comment": "-- nothing",
    "only_semicolons": ";;;",
    "nul": "SELECT 1\0; DELETE FROM dumps",
}


def attacks() -> dict[str, str]:
    """Every attack by name."""
    found = dict(STATEMENTS)
    for name, write in WRITES.items():
        found[name] = write
        found |= {f"{name}_in_{place}": text.format(write) for place, text in PLACES.items()}
        quoted = write.replace("'", "''")
        found |= {f"{name}_by_{runner}": text.format(quoted) for runner, text in RUNNERS.items()}
    return found
