-- program_nodes: The calls of programs that have a debug handle.
--
-- Reads chosen_dumps, for their programs.
--
-- columns:
--   etrecord_id, method
--   handle       BIGINT   Debug handle of the node.
--   scope, node_index
--   operator     STRING   The operator that it calls, e.g. convolution.
--   word         STRING   First word of the delegate's events that run it, else the
--                         operator.
--   is_view      BOOLEAN  Whether it keeps all elements: then often nothing runs it.
--   alike_count  BIGINT   Nodes of the handle and operator.
--   word_count   BIGINT   Nodes of the handle and word.
--   word_place   BIGINT   Which of them, in order of the graph, from 1.
WITH operator_words AS (
    -- The first word of XNNPACK's events, by operator.
    SELECT operator, word
    FROM (
        VALUES
            ('linear', 'Fully'), ('addmm', 'Fully'), ('mm', 'Fully'),
            ('bmm', 'Batch'), ('convolution', 'Convolution'),
            ('_softmax', 'Softmax'), ('add', 'Add'), ('sub', 'Subtract'),
            ('mul', 'Multiply'), ('div', 'Divide'), ('abs', 'Abs'), ('exp', 'Exp'),
            ('log', 'Log'), ('neg', 'Negate'), ('pow', 'Power'), ('sqrt', 'Square'),
            ('rsqrt', 'Reciprocal'), ('tanh', 'TanH'), ('sigmoid', 'Sigmoid'),
            ('gelu', 'GELU'), ('elu', 'ELU'), ('sin', 'Sine'), ('cos', 'Cosine'),
            ('floor', 'Floor'), ('ceil', 'Ceiling'), ('hardswish', 'HardSwish'),
            ('leaky_relu', 'Leaky'), ('mean', 'Mean'), ('relu', 'Clamp'),
            ('hardtanh', 'Clamp'), ('clamp', 'Clamp'), ('maximum', 'Maximum'),
            ('minimum', 'Minimum'), ('max_pool2d', 'Max'),
            ('avg_pool2d', 'Average'), ('permute_copy', 'Transpose'),
            ('slice_copy', 'Slice'), ('constant_pad_nd', 'Constant'),
            ('upsample_bilinear2d', 'Resize')
    ) AS w (operator, word)
)
SELECT
    etrecord_id, method, handle, scope, node_index, operator, word, is_view,
    count(*) OVER (PARTITION BY etrecord_id, method, handle, operator) AS alike_count,
    count(*) OVER (PARTITION BY etrecord_id, method, handle, word) AS word_count,
    row_number() OVER (
        PARTITION BY etrecord_id, method, handle, word ORDER BY scope, node_index
    ) AS word_place
FROM (
    SELECT DISTINCT
        n.etrecord_id, n.method, n.debug_handle AS handle, n.scope, n.node_index,
        split_part(n.target, '.', 2) AS operator,
        coalesce(w.word, split_part(n.target, '.', 2)) AS word,
        split_part(n.target, '.', 2) IN (
            'view_copy', 'unsqueeze_copy', 'squeeze_copy', 'expand_copy', 'clone',
            'alias_copy', '_clone_dim_order'
        ) AS is_view
    FROM graph_nodes AS n
    LEFT JOIN operator_words AS w ON w.operator = split_part(n.target, '.', 2)
    WHERE n.graph = 'edge_dialect_exported_program' AND n.op = 'call_function'
        AND n.debug_handle IS NOT NULL AND n.etrecord_id IN (
            SELECT etrecord_id FROM chosen_dumps
        )
) AS n
