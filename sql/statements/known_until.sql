-- Arrival of the first dump of a build after a build ($head) on its branch: the report of
-- $head did not know later dumps. Null if $head is the last build of its branch.
SELECT min(d.ingested_at) AS until
FROM build_lineage AS l
JOIN builds AS h ON h.name = l.ancestor
JOIN builds AS b ON b.name = l.build AND coalesce(b.branch, '') = coalesce(h.branch, '')
JOIN dumps AS d ON d.build_id = b.build_id
WHERE l.ancestor = $head
