-- builds_in_order: Builds in their order.
--
-- Builds are ordered by their ordinals, then by their parents, which come before them,
-- then by the times of their commits, then by the times of their recordings, then by
-- their names.
--
-- columns:
--   build, build_ordinal, branch, committed_at, first_captured_at
--   last_captured_at  TIMESTAMP  Last recording of the build on any device; null if
--                                unknown, as where clocks are implausible.
--   build_parent, build_role
--   captured_at       TIMESTAMP  Median over its devices of the times of their
--                                recordings; null if unknown.
--   device_count      INT        Devices that recorded it at a plausible time.
--   position          INT        Place in the order, from 1.
SELECT
    b.name AS build, b.ordinal AS build_ordinal, b.branch, b.committed_at,
    o.first_captured_at, o.last_captured_at, b.parent AS build_parent,
    b.role AS build_role, o.captured_at, o.device_count, o.position
FROM builds AS b
JOIN build_order AS o ON o.build_id = b.build_id
