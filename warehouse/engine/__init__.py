"""DuckDB: connections, the store's file and lock, schema, views, and what SQL may do."""
