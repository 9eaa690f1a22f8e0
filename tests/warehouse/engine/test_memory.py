from __future__ import annotations

from contextlib import closing

import pytest

from warehouse.engine.connection import open_memory, use_database
from warehouse.engine.memory import store_in_memory
from warehouse.engine.migrations import migrate

_COLUMNS = (
    "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
    "WHERE database_name = 'warehouse' AND NOT internal AND table_name NOT IN "
    "(SELECT view_name FROM duckdb_views()) ORDER BY table_name, column_index"
)


@pytest.mark.slow
def test_it_has_the_tables_of_a_store_and_no_views() -> None:
    with closing(open_memory()) as stored, closing(store_in_memory()) as found:
        use_database(stored)
        migrate(stored)
        for text in (_COLUMNS, "SELECT number, name FROM schema_migrations"):
            assert found.sql(text).fetchall() == stored.sql(text).fetchall() != []
        assert found.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []
