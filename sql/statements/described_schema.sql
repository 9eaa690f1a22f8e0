-- Tables, views and columns with types and comments. The views are those of the connection, not
-- the ones that the store has for other tools, nor those that hide rows of a table.
WITH tables AS (
    SELECT table_oid, table_name, comment FROM duckdb_tables()
    WHERE database_name = current_database()
),
views AS (
    SELECT view_name, comment FROM duckdb_views()
    WHERE temporary AND NOT internal AND view_name NOT IN (SELECT table_name FROM tables)
)
SELECT table_name, NULL AS column_name, 'table' AS type, comment FROM tables
UNION ALL SELECT view_name, NULL, 'view', comment FROM views
UNION ALL SELECT c.table_name, c.column_name, c.data_type, c.comment FROM duckdb_columns() AS c
WHERE c.table_oid IN (SELECT table_oid FROM tables) AND c.database_name = current_database()
    OR c.table_name IN (SELECT view_name FROM views) AND c.database_name = 'temp'
ORDER BY table_name, column_name NULLS FIRST
