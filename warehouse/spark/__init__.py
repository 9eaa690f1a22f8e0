"""The lake filled and asked by Apache Spark, around the same decoding and the same SQL."""
