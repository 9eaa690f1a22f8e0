"""Arrow tables to a DuckDB store, and the store's answers."""

DEFAULT_PATH = "tracehouse.store"
