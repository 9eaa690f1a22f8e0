-- Devices whose clocks were wrong when they recorded a build ($head), or are doubted, with the number
-- of dumps, the earliest and latest of their times, and the median of the devices' times. The rules
-- are those of data_quality.
SELECT
    d.device, is_plausible(d.captured_at, d.ingested_at) AS is_possible, count(*) AS n,
    CAST(min(d.captured_at) AS DATE) AS first_day,
    CAST(max(d.captured_at) AS DATE) AS last_day,
    CAST(max(b.captured_at) AS DATE) AS usual_day
FROM named_dumps AS d
JOIN builds_in_order AS b ON b.build = d.build
WHERE d.build = $head
    AND (NOT is_plausible(d.captured_at, d.ingested_at) OR is_out_of_line(d, b))
GROUP BY d.device, is_plausible(d.captured_at, d.ingested_at)
ORDER BY d.device, is_possible
