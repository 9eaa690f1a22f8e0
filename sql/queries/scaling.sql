-- scaling: Growth of latency with the size of the input, which a tag states.
--
-- The value of a dump is the grouped median of Method::execute after warm-up (from the
-- sixth run on) if at least 20 are left, else the median of all; the methods of a
-- program are separate. The exponent is the slope between two sizes, with times and
-- sizes as logarithms, the median over all pairs of sizes: 1 is linear, 2 quadratic, 0
-- no growth. Dumps whose tag is no number above 0, or that count cycles of unknown
-- rate, are left out.
--
-- params:
--   run
--   size_tag  TAG_KEY OF named_dumps.tags  Key of the tag that has the size, e.g.
--                        tokens or input.height.
--
-- filters: chosen_dumps
--
-- columns:
--   device, build, model, backend, run
--   size           DOUBLE  Size of the input.
--   dump_count     BIGINT  Dumps of it, at least 1.
--   p50_ns         DOUBLE  Median of their values, nanoseconds; lower is better, as in
--                          all that follow.
--   unit_ns        DOUBLE  p50_ns over the size.
--   over_smallest  DOUBLE  p50_ns over the smallest size's.
--   exponent       DOUBLE  See above; null with dumps of one size only.
WITH sized AS (
    SELECT
        c.dump_id, c.device, c.build, c.model, c.backend, o.run,
        coalesce(o.value_ns, o.p50_ns) AS value_ns,
        try_cast(tag_of(c.tags, CAST(:size_tag AS STRING)) AS DOUBLE) AS size
    FROM operator_stats AS o
    JOIN chosen_dumps AS c ON c.dump_id = o.dump_id
    WHERE o.kind = 'method'
        AND is_chosen(:run, o.run)
),
sizes AS (
    SELECT
        device, build, model, backend, run, size, count(DISTINCT dump_id) AS dump_count,
        median(value_ns) AS p50_ns
    FROM sized
    WHERE size > 0 AND value_ns > 0
    GROUP BY device, build, model, backend, run, size
),
slopes AS (
    SELECT
        a.device, a.build, a.model, a.backend, a.run,
        median(ln(b.p50_ns / a.p50_ns) / ln(b.size / a.size)) AS exponent
    FROM sizes AS a
    JOIN sizes AS b
        ON same_family(b, a) AND b.build = a.build AND b.run = a.run AND b.size > a.size
    GROUP BY a.device, a.build, a.model, a.backend, a.run
)
SELECT
    s.device, s.build, s.model, s.backend, s.run, s.size, s.dump_count, s.p50_ns,
    s.p50_ns / s.size AS unit_ns,
    s.p50_ns / min(CASE WHEN s.size = s.least_size THEN s.p50_ns END) OVER (
        PARTITION BY s.device, s.build, s.model, s.backend, s.run
    ) AS over_smallest,
    e.exponent
FROM (
    SELECT
        *, min(size) OVER (PARTITION BY device, build, model, backend, run)
            AS least_size
    FROM sizes
) AS s
LEFT JOIN slopes AS e ON same_family(e, s) AND e.build = s.build AND e.run = s.run
ORDER BY s.device, s.build, s.model, s.backend NULLS LAST, s.run, s.size
