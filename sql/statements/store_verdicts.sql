-- Keep which dumps are damaged: in `verdicts` is a row for each verified dump, with its digests.
UPDATE dump_digests AS d
SET damaged = v.damaged
FROM verdicts AS v
WHERE v.dump_id = d.dump_id AND v.damaged IS DISTINCT FROM d.damaged;

INSERT INTO dump_digests BY NAME
SELECT v.*
FROM verdicts AS v JOIN dumps AS d ON d.dump_id = v.dump_id
WHERE v.dump_id NOT IN (SELECT dump_id FROM dump_digests)
