"""Lakes: a store's tables as Parquet files in any file system, for every engine to read."""
