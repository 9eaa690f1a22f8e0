"""Lakes filled and queried by Apache Spark, with the same decoder and the same SQL."""
