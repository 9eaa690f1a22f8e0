-- Tables, views and columns with types and comments. The views are those of the connection, not
-- the ones that the store has for other tools.
SELECT table_name, NULL AS column_name, 'table' AS type, comment FROM duckdb_tables()
WHERE database_name = current_database()
UNION ALL SELECT view_name, NULL, 'view', comment FROM duckdb_views()
WHERE temporary AND NOT internal
UNION ALL SELECT c.table_name, c.column_name, c.data_type, c.comment FROM duckdb_columns() AS c
WHERE c.table_oid IN (
    SELECT table_oid FROM duckdb_tables() WHERE database_name = current_database()
) AND c.database_name = current_database() OR c.database_name = 'temp' AND NOT c.internal
ORDER BY table_name, column_name NULLS FIRST
