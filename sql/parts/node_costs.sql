-- node_costs: Operations and bytes of each node of a program, by its tensors' shapes.
--
-- Reads chosen_dumps, for their programs. Multiplications and additions of matrix
-- products and convolutions follow from their shapes; other operators have the costs in
-- the list below, else one operation per element of the first result. Bytes are those
-- of the tensors that a node reads and writes, each once, even if a fused kernel keeps
-- them in registers; a node that selects a part of a tensor reads as much as it writes.
--
-- columns:
--   etrecord_id
--   graph   STRING  Name of the graph.
--   method
--   scope   STRING  '' for the program's main graph; else the names of the nodes that
--                   hold the graph.
--   node_index
--   target  STRING  The called operator, e.g. aten.convolution.default.
--   flops   DOUBLE  Operations; null with a shape that is not known beforehand.
--   bytes   DOUBLE  Bytes read and written; null likewise, and with an element type of
--                   unknown size.
WITH operator_costs AS (
    -- Operators with another cost than one operation per element of the result: so many
    -- per element of the first argument, or per element of the result and of the kernel
    -- that is moved over the argument. Softmax: the maximum, its subtraction, the
    -- exponential, the sum, the division. A variance: the mean, its subtraction, the
    -- square, the sum. A layer norm: a variance, the division by the deviation, the
    -- weight, the bias.
    SELECT operator, per_input, per_kernel
    FROM (
        VALUES
            ('sum', 1e0, 0e0), ('mean', 1e0, 0e0), ('prod', 1e0, 0e0),
            ('amax', 1e0, 0e0), ('amin', 1e0, 0e0), ('max', 1e0, 0e0),
            ('min', 1e0, 0e0), ('argmax', 1e0, 0e0), ('argmin', 1e0, 0e0),
            ('any', 1e0, 0e0), ('all', 1e0, 0e0), ('topk', 1e0, 0e0),
            ('linalg_vector_norm', 2e0, 0e0), ('var', 4e0, 0e0), ('std', 4e0, 0e0),
            ('_softmax', 5e0, 0e0), ('_safe_softmax', 5e0, 0e0),
            ('_log_softmax', 5e0, 0e0), ('native_layer_norm', 7e0, 0e0),
            ('native_group_norm', 7e0, 0e0), ('_adaptive_avg_pool2d', 1e0, 0e0),
            ('adaptive_avg_pool1d', 1e0, 0e0), ('avg_pool1d', 0e0, 1e0),
            ('avg_pool2d', 0e0, 1e0), ('avg_pool3d', 0e0, 1e0),
            ('max_pool2d', 0e0, 1e0), ('max_pool2d_with_indices', 0e0, 1e0),
            ('max_pool3d_with_indices', 0e0, 1e0), ('cat', 0e0, 0e0),
            ('stack', 0e0, 0e0), ('clone', 0e0, 0e0),
            ('_clone_dim_order', 0e0, 0e0), ('embedding', 0e0, 0e0),
            ('index', 0e0, 0e0), ('index_select', 0e0, 0e0), ('gather', 0e0, 0e0),
            ('index_put', 0e0, 0e0), ('scatter', 0e0, 0e0),
            ('slice_scatter', 0e0, 0e0), ('select_scatter', 0e0, 0e0),
            ('constant_pad_nd', 0e0, 0e0), ('repeat', 0e0, 0e0), ('flip', 0e0, 0e0),
            ('roll', 0e0, 0e0), ('pixel_shuffle', 0e0, 0e0),
            ('pixel_unshuffle', 0e0, 0e0), ('full', 0e0, 0e0),
            ('full_like', 0e0, 0e0), ('scalar_tensor', 0e0, 0e0)
    ) AS c (operator, per_input, per_kernel)
),
nodes AS (
    SELECT DISTINCT
        etrecord_id, graph, method, scope, node_index, op, target,
        split_part(code, ' = ', 1) AS results, split_part(code, ' = ', 2) AS call
    FROM graph_nodes
    WHERE etrecord_id IN (SELECT etrecord_id FROM chosen_dumps)
),
-- Each tensor is the result of a node: 'a: float32[1, 8], b: int64[1] = ...'.
tensors AS (
    SELECT
        etrecord_id, graph, method, scope, node_index, place, name,
        dims, CASE
            WHEN element_type IN ('float64', 'int64') THEN 8e0
            WHEN element_type IN ('float32', 'int32') THEN 4e0
            WHEN element_type IN ('float16', 'bfloat16', 'int16') THEN 2e0
            WHEN element_type IN ('int8', 'uint8', 'bool') THEN 1e0
        END AS element_bytes
    FROM (
        SELECT
            *, split_part(result, ': ', 1) AS name,
            split_part(split_part(result, ': ', 2), '[', 1) AS element_type,
            replace(split_part(result, '[', 2), ']', '') AS dims
        FROM (
            SELECT n.*, k.place, split_part(n.results, '], ', k.place) AS result
            FROM nodes AS n
            CROSS JOIN (VALUES (1), (2), (3), (4)) AS k (place)
            WHERE n.op <> 'output'
        ) AS r
        WHERE result <> ''
    ) AS t
),
sized AS (
    SELECT
        etrecord_id, graph, method, scope, node_index, place, name,
        try_cast(split_part(dims, ', ', 1) AS DOUBLE) AS first_dim,
        try_cast(split_part(dims, ', ', -1) AS DOUBLE) AS last_dim,
        element_bytes, split_part(dims, ', ', 7) AS rest,
        coalesce(nullif(split_part(dims, ', ', 1), ''), '1') AS d1,
        coalesce(nullif(split_part(dims, ', ', 2), ''), '1') AS d2,
        coalesce(nullif(split_part(dims, ', ', 3), ''), '1') AS d3,
        coalesce(nullif(split_part(dims, ', ', 4), ''), '1') AS d4,
        coalesce(nullif(split_part(dims, ', ', 5), ''), '1') AS d5,
        coalesce(nullif(split_part(dims, ', ', 6), ''), '1') AS d6
    FROM tensors
),
counted AS (
    SELECT
        *, CASE WHEN rest = '' THEN
            try_cast(d1 AS DOUBLE) * try_cast(d2 AS DOUBLE) * try_cast(d3 AS DOUBLE)
            * try_cast(d4 AS DOUBLE) * try_cast(d5 AS DOUBLE) * try_cast(d6 AS DOUBLE)
        END AS elements
    FROM sized
),
-- What a node reads: the tensors that its call names.
inputs AS (
    SELECT
        n.etrecord_id, n.graph, n.method, n.scope, n.node_index,
        sum(t.elements * t.element_bytes) AS bytes,
        count(CASE WHEN t.elements * t.element_bytes IS NULL THEN 1 END) AS unknowns,
        max(CASE WHEN n.argument = 1 THEN t.elements END) AS first_elements,
        max(CASE WHEN n.argument = 1 THEN t.last_dim END) AS first_depth,
        max(CASE WHEN n.argument = 2 THEN t.last_dim END) AS second_depth,
        max(CASE WHEN n.argument = 2 THEN t.elements / nullif(t.first_dim, 0e0) END)
            AS filter_elements
    FROM (
        SELECT
            c.etrecord_id, c.graph, c.method, c.scope, c.node_index, k.argument,
            replace(replace(replace(replace(
                split_part(split_part(c.call, '(', 2), ', ', k.argument),
                '[', ''), ']', ''), '(', ''), ')', '') AS name
        FROM nodes AS c
        CROSS JOIN (
            VALUES (1), (2), (3), (4), (5), (6), (7), (8)
        ) AS k (argument)
        WHERE c.op = 'call_function'
    ) AS n
    JOIN counted AS t
        ON t.etrecord_id = n.etrecord_id AND t.graph = n.graph
        AND t.method = n.method AND t.scope = n.scope AND t.name = n.name
    GROUP BY n.etrecord_id, n.graph, n.method, n.scope, n.node_index
),
outputs AS (
    SELECT
        etrecord_id, graph, method, scope, node_index,
        sum(elements * element_bytes) AS bytes,
        count(CASE WHEN elements * element_bytes IS NULL THEN 1 END) AS unknowns,
        max(CASE WHEN place = 1 THEN elements END) AS elements
    FROM counted
    GROUP BY etrecord_id, graph, method, scope, node_index
)
SELECT
    n.etrecord_id, n.graph, n.method, n.scope, n.node_index, n.target,
    CASE
        WHEN n.target IN ('aten.mm.default', 'aten.bmm.default', 'aten.linear.default')
            THEN 2 * o.elements * i.first_depth
        WHEN n.target IN ('aten.addmm.default', 'aten.baddbmm.default')
            THEN 2 * o.elements * i.second_depth
        WHEN n.target = 'aten.convolution.default'
            THEN 2 * i.filter_elements * CASE
                WHEN replace(n.call, 'transposed=True', '') <> n.call
                    THEN i.first_elements
                ELSE o.elements
            END
        WHEN replace(n.target, '_copy.', '') <> n.target THEN 0e0
        WHEN k.per_kernel > 0 THEN k.per_kernel * n.kernel_elements * o.elements
        WHEN k.per_input > 0 THEN k.per_input * i.first_elements
        WHEN k.per_input = 0 THEN 0e0
        ELSE o.elements
    END AS flops,
    CASE
        WHEN o.unknowns > 0 THEN NULL
        WHEN split_part(n.target, '.', 2)
            IN ('embedding', 'index_select', 'select_copy', 'slice_copy')
            THEN 2 * o.bytes
        WHEN coalesce(i.unknowns, 0) = 0 THEN o.bytes + coalesce(i.bytes, 0e0)
    END AS bytes
FROM (
    SELECT
        *, try_cast(split_part(kernel, ', ', 1) AS DOUBLE)
            * coalesce(try_cast(split_part(kernel, ', ', 2) AS DOUBLE), 1e0)
            * coalesce(try_cast(split_part(kernel, ', ', 3) AS DOUBLE), 1e0)
            AS kernel_elements
    FROM (
        SELECT *, split_part(split_part(call, 'kernel_size=[', 2), ']', 1) AS kernel
        FROM nodes
        WHERE op = 'call_function'
    ) AS c
) AS n
LEFT JOIN operator_costs AS k ON k.operator = split_part(n.target, '.', 2)
JOIN outputs AS o
    ON o.etrecord_id = n.etrecord_id AND o.graph = n.graph AND o.method = n.method
    AND o.scope = n.scope AND o.node_index = n.node_index
LEFT JOIN inputs AS i
    ON i.etrecord_id = n.etrecord_id AND i.graph = n.graph AND i.method = n.method
    AND i.scope = n.scope AND i.node_index = n.node_index
