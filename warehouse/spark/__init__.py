"""Lakes filled and queried by Apache Spark, with the same decoder and the same SQL.

Functions of this package raise SourceError if the inbox cannot be read, LakeError if the lake
cannot be read or written, and SparkError if a task failed again and again.
"""
