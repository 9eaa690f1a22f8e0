-- plain_samples: The values of the dumps that count, by series.
--
-- Reads measured and series. In a series with both units, only nanoseconds count.
--
-- columns:
--   series_id, dump_id, is_head
--   value  DOUBLE  Value of the dump.
--   y      DOUBLE  Its logarithm; below 1 it counts as 1.
SELECT
    s.series_id, m.dump_id, m.is_head, m.value, ln(greatest(m.value, 1e0)) AS y
FROM measured AS m
JOIN series AS s ON s.level = m.level AND same_operator(s, m) AND s.unit = m.unit
WHERE m.value IS NOT NULL
