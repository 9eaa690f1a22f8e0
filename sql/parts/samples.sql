-- samples: The values that are compared, by series.
--
-- Reads plain_samples and modes.
--
-- columns:
--   series_id  BIGINT  Number of the series.
--   is_head    INT     1 for a dump of the head, 0 for one of the base.
--   y          DOUBLE  Value in log time, less the centre of its mode if there are any.
SELECT
    s.series_id, s.is_head,
    s.y - coalesce(
        CASE WHEN s.y <= m.split THEN m.fast_centre ELSE m.slow_centre END, 0e0
    ) AS y
FROM plain_samples AS s
LEFT JOIN modes AS m ON m.series_id = s.series_id
