-- When the first dump came of a build after one ($head): what was recorded since then, the report
-- of that build did not know. Null if it is the last one.
SELECT min(d.ingested_at) AS until
FROM build_lineage AS l
JOIN builds AS b ON b.name = l.build
JOIN dumps AS d ON d.build_id = b.build_id
WHERE l.ancestor = $head
