-- What is worked out from events, so that few questions read them; ingest/schemas says what each
-- means. Dumps that are in the store get theirs here, as ingest makes them for others.

CREATE TABLE run_totals (
    dump_id INTEGER NOT NULL USING COMPRESSION rle,
    run_index INTEGER NOT NULL USING COMPRESSION bitpacking,
    execute_ticks DOUBLE NOT NULL USING COMPRESSION alp,
    kernel_ticks DOUBLE NOT NULL USING COMPRESSION alp,
    delegate_ticks DOUBLE NOT NULL USING COMPRESSION alp
);

CREATE TABLE event_totals (
    dump_id INTEGER NOT NULL USING COMPRESSION rle,
    run_signature_id BIGINT NOT NULL USING COMPRESSION rle,
    event_signature_id BIGINT NOT NULL,
    chain_index INTEGER NOT NULL USING COMPRESSION rle,
    event_count BIGINT NOT NULL USING COMPRESSION bitpacking,
    total_ticks DOUBLE NOT NULL USING COMPRESSION alp
);

CREATE TABLE event_histograms (
    dump_id INTEGER NOT NULL USING COMPRESSION rle,
    event_signature_id BIGINT NOT NULL USING COMPRESSION rle,
    bucket INTEGER NOT NULL USING COMPRESSION bitpacking,
    event_count BIGINT NOT NULL USING COMPRESSION bitpacking
);

INSERT INTO run_totals
SELECT e.dump_id, e.run_index,
    coalesce(sum(e.duration_ticks::DOUBLE) FILTER (s.kind = 'method'), 0),
    coalesce(sum(e.duration_ticks::DOUBLE) FILTER (s.kind = 'kernel'), 0),
    coalesce(sum(e.duration_ticks::DOUBLE) FILTER (s.kind = 'delegate_call'), 0)
FROM events AS e
JOIN event_signatures AS s ON s.event_signature_id = e.event_signature_id
GROUP BY e.dump_id, e.run_index
HAVING count(*) FILTER (s.kind = 'method') > 0 AND count(*) FILTER (e.flags > 1) = 0
ORDER BY e.dump_id, e.run_index;

INSERT INTO event_totals
SELECT e.dump_id, e.run_signature_id, e.event_signature_id, e.chain_index,
    count(*), sum(e.duration_ticks::DOUBLE)
FROM events AS e
JOIN run_totals AS r ON r.dump_id = e.dump_id AND r.run_index = e.run_index
GROUP BY e.dump_id, e.run_signature_id, e.event_signature_id, e.chain_index
ORDER BY e.dump_id, e.run_signature_id, e.event_signature_id, e.chain_index;

INSERT INTO event_histograms
SELECT e.dump_id, e.event_signature_id,
    CASE e.duration_ticks
        WHEN 0 THEN -1 ELSE ceil(ln(greatest(e.duration_ticks, 1)) / ln(1.01e0 / 0.99e0))
    END::INTEGER AS bucket,
    count(*)
FROM events AS e
JOIN dumps AS d ON d.dump_id = e.dump_id
WHERE d.n_runs >= 200 AND e.flags <= 1
GROUP BY e.dump_id, e.event_signature_id, bucket
ORDER BY e.dump_id, e.event_signature_id, bucket;

-- Nothing of ours reads it any more.
DROP VIEW IF EXISTS complete_run_events;
