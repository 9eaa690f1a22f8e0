-- What telling regressions needs: medians finer than a coarse clock, the ancestry of builds, and
-- what people decided about alerts.

ALTER TABLE builds ADD COLUMN parent VARCHAR;
ALTER TABLE builds ADD COLUMN role VARCHAR;

CREATE TABLE group_decisions (
    group_id VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    decided_by VARCHAR NOT NULL,
    decided_at TIMESTAMP WITH TIME ZONE NOT NULL
);

ALTER TABLE event_stats ADD COLUMN steady_grouped_ticks DOUBLE;

-- Where the events are gone, the plain median is the best there is.
UPDATE event_stats SET steady_grouped_ticks = steady_p50_ticks;

UPDATE event_stats
SET steady_grouped_ticks = CASE
    WHEN 2 * (g.below_count + g.at_count) = g.steady_count THEN (g.middle + g.next_ticks) / 2
    ELSE greatest(
        g.middle + g.step * ((g.steady_count / 2 - g.below_count) / g.at_count - 0.5::DOUBLE), 0
    )
END
FROM (
    SELECT
        c.dump_id, c.event_signature_id, c.ticks AS middle, c.at_count, c.steady_count,
        c.up_to_count - c.at_count AS below_count, c.next_ticks,
        CASE s.kind WHEN 'delegate_op' THEN d.delegate_resolution_ticks ELSE 1 END AS step
    FROM (
        SELECT
            dump_id, event_signature_id, ticks, at_count,
            sum(at_count) OVER signature AS steady_count,
            sum(at_count) OVER (signature ORDER BY ticks) AS up_to_count,
            lead(ticks) OVER (signature ORDER BY ticks) AS next_ticks
        FROM (
            SELECT dump_id, event_signature_id, ticks, count(*) AS at_count
            FROM (
                SELECT
                    dump_id, event_signature_id, duration_ticks AS ticks,
                    dense_rank() OVER (
                        PARTITION BY dump_id, event_signature_id ORDER BY run_index
                    ) AS nth_run
                FROM events
                WHERE flags <= 1
            )
            WHERE nth_run > 5
            GROUP BY dump_id, event_signature_id, ticks
        )
        WINDOW signature AS (PARTITION BY dump_id, event_signature_id)
    ) AS c
    JOIN dumps AS d ON d.dump_id = c.dump_id
    JOIN event_signatures AS s ON s.event_signature_id = c.event_signature_id
    WHERE 2 * c.up_to_count >= c.steady_count
        AND 2 * (c.up_to_count - c.at_count) < c.steady_count
) AS g
WHERE g.dump_id = event_stats.dump_id AND g.event_signature_id = event_stats.event_signature_id;
