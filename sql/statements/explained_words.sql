-- explained_words: The word in the names of delegates' events for each node of two programs.
--
-- parts: compared_programs AS chosen_dumps, program_nodes
--
-- columns:
--   etrecord_id, method, scope, node_index
--   word  STRING  First word of a delegate's events that run it, else its operator.
SELECT DISTINCT etrecord_id, method, scope, node_index, word
FROM program_nodes
ORDER BY etrecord_id, method, scope, node_index, word
