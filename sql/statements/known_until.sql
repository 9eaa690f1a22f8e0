-- Arrival of the first dump of a build after a build ($head): the report of $head did not know
-- later dumps. Null if $head is the last build.
SELECT min(d.ingested_at) AS until
FROM build_lineage AS l
JOIN builds AS b ON b.name = l.build
JOIN dumps AS d ON d.build_id = b.build_id
WHERE l.ancestor = $head
