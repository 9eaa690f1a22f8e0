-- Sentences on disagreements between these ETRecords and the dumps that came with them.
SELECT DISTINCT e.source || ': ' || o.doubt AS doubt
FROM event_origins AS o
JOIN etrecords AS e ON e.etrecord_id = o.etrecord_id
WHERE o.doubt IS NOT NULL AND o.etrecord_id IN (SELECT unnest($programs))
ORDER BY doubt
