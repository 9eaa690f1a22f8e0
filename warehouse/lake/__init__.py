"""A lake: Parquet files of any file system, with what a store has, for every engine to read."""
