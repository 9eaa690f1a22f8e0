#!/bin/sh
# What `make demo-spark` runs: the dumps in tests/data/farm into a lake, by Apache Spark on this machine.
# The lake is demo.lake, made anew, or the directory given as argument.
set -eu
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || rm -rf demo.lake
lake="${1:-demo.lake}"

run() {
    printf '\n$ tracehouse %s\n' "$*"
    tracehouse "$@"
}

run spark ingest tests/data/farm "$lake"
run spark ingest tests/data/farm "$lake" # which finds nothing new

cat <<'END'

The same with DuckDB, which needs to know nothing of us:
END
python - "$lake" <<'END'
import sys

import duckdb

text = """
SELECT model, count(*) AS dumps, CAST(sum(n_events) AS BIGINT) AS events
FROM read_parquet($files, hive_partitioning = true) GROUP BY model ORDER BY model
"""
print(duckdb.sql(text, params={"files": f"{sys.argv[1]}/dumps/**/*.parquet"}))
END
echo "The lake is $lake. docs/spark.md tells how to fill one from a bucket, and with a cluster."
