-- Source and hash of a dump's ETRecord.
SELECT source, sha256
FROM etrecords
WHERE etrecord_id = (SELECT etrecord_id FROM dumps WHERE dump_id = ?)
