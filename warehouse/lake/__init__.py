"""Lakes: a store's tables as Parquet files in any file system, for every engine to read.

Functions of this package raise LakeError if the lake cannot be read or written.
"""
