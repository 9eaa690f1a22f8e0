-- Statistics of events by the signature of their runs, too: runs of two signatures are two series.
-- Where one event signature is in several of a dump, all its events count for the one with the most
-- runs, until warehouse/load/split_statistics works them out anew from the events, if there are
-- any left.

ALTER TABLE event_signatures ADD COLUMN IF NOT EXISTS unit VARCHAR;  -- of schema 10, read here

CREATE TEMP TABLE signature_places AS
SELECT dump_id, event_signature_id,
    max_by(run_signature_id, (run_count, run_signature_id)) AS run_signature_id,
    count(*) AS place_count
FROM (
    SELECT r.dump_id, r.run_signature_id, r.run_count, unnest(s.events) AS event_signature_id
    FROM (
        SELECT dump_id, run_signature_id, count(*) AS run_count
        FROM runs
        GROUP BY dump_id, run_signature_id
    ) AS r
    JOIN run_signatures AS s ON s.run_signature_id = r.run_signature_id
)
GROUP BY dump_id, event_signature_id;

ALTER TABLE event_stats RENAME TO event_stats_of_dumps;

CREATE TABLE event_stats (
    dump_id INTEGER NOT NULL,
    run_signature_id BIGINT NOT NULL,
    event_signature_id BIGINT NOT NULL,
    sample_count BIGINT NOT NULL,
    zero_count BIGINT NOT NULL,
    min_ticks BIGINT NOT NULL,
    max_ticks BIGINT NOT NULL,
    sum_ticks DOUBLE NOT NULL,
    p10_ticks DOUBLE NOT NULL,
    p50_ticks DOUBLE NOT NULL,
    p90_ticks DOUBLE NOT NULL,
    p95_ticks DOUBLE NOT NULL,
    p99_ticks DOUBLE NOT NULL,
    steady_count BIGINT NOT NULL,
    steady_p50_ticks DOUBLE,
    steady_grouped_ticks DOUBLE
);

INSERT INTO event_stats BY NAME
SELECT x.*, p.run_signature_id
FROM event_stats_of_dumps AS x
JOIN signature_places AS p
    ON p.dump_id = x.dump_id AND p.event_signature_id = x.event_signature_id
ORDER BY x.rowid;

DROP TABLE event_stats_of_dumps;

ALTER TABLE event_histograms RENAME TO event_histograms_of_dumps;

CREATE TABLE event_histograms (
    dump_id INTEGER NOT NULL USING COMPRESSION rle,
    run_signature_id BIGINT NOT NULL USING COMPRESSION rle,
    event_signature_id BIGINT NOT NULL USING COMPRESSION rle,
    bucket INTEGER NOT NULL USING COMPRESSION bitpacking,
    event_count BIGINT NOT NULL USING COMPRESSION bitpacking
);

INSERT INTO event_histograms BY NAME
SELECT x.*, p.run_signature_id
FROM event_histograms_of_dumps AS x
JOIN signature_places AS p
    ON p.dump_id = x.dump_id AND p.event_signature_id = x.event_signature_id
ORDER BY x.rowid;

DROP TABLE event_histograms_of_dumps;
