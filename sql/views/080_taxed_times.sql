-- taxed_times: Time of calls and of the work inside them; the rest is tax.
--
-- Only complete runs count. An operator call is paired with its kernels, and a delegate
-- call with the delegate's own operators, by instruction. Kernels of an instruction add
-- up, so the time of one that another calls counts twice.
--
-- columns:
--   scope           STRING  run, operator or delegate.
--   dump_id
--   run_index       INT     Position of the run in its dump, from 0; null unless scope
--                           is run.
--   event_name      STRING  Method::execute, or name of the kernel (of several the last
--                           one by name) or delegate call.
--   instruction_id  INT     Instruction of the operator or delegate call; null if scope
--                           is run.
--   call_count      BIGINT  Calls summed: 1 if scope is run.
--   execute_ns      DOUBLE  Time of the calls; null in cycles of unknown rate, like all
--                           times.
--   kernel_ns       DOUBLE  Time in kernels; null if some calls log none, and if scope
--                           is delegate.
--   delegate_ns     DOUBLE  Time in delegate calls, in the delegate's own operators if
--                           scope is delegate (null if it logs none, or times any in
--                           cycles of unknown rate); null if scope is operator.
--   tax_ns          DOUBLE  execute_ns less kernel_ns and delegate_ns, whichever apply;
--                           null where these take longer, as a delegate's clock
--                           disagrees.
SELECT
    'run' AS scope, dump_id, run_index,
    'Method::execute' AS event_name, CAST(NULL AS INT) AS instruction_id,
    CAST(1 AS BIGINT) AS call_count, execute_ns, kernel_ns, delegate_ns,
    CASE
        WHEN kernel_ns + delegate_ns <= execute_ns
            THEN execute_ns - kernel_ns - delegate_ns
    END AS tax_ns
FROM complete_runs
UNION ALL
SELECT
    'operator' AS scope, dump_id, CAST(NULL AS INT) AS run_index,
    event_name, instruction_id, call_count, call_ns AS execute_ns,
    CASE WHEN kernel_count >= call_count THEN kernel_ns END AS kernel_ns,
    CAST(NULL AS DOUBLE) AS delegate_ns,
    CASE
        WHEN kernel_count >= call_count AND kernel_ns <= call_ns
            THEN call_ns - kernel_ns
    END AS tax_ns
FROM (
    SELECT
        dump_id, instruction_id,
        max(CASE WHEN kind = 'kernel' THEN event_name END) AS event_name,
        CAST(sum(CASE WHEN kind = 'operator_call' THEN event_count END) AS BIGINT)
            AS call_count,
        CAST(sum(CASE WHEN kind = 'kernel' THEN event_count END) AS BIGINT)
            AS kernel_count,
        whole_sum(CASE WHEN kind = 'operator_call' THEN total_ns ELSE 0e0 END)
            AS call_ns,
        whole_sum(CASE WHEN kind = 'kernel' THEN total_ns ELSE 0e0 END) AS kernel_ns
    FROM complete_run_totals
    WHERE kind IN ('operator_call', 'kernel')
    GROUP BY dump_id, run_signature_id, chain_index, instruction_id
) AS o
WHERE call_count > 0 AND kernel_count > 0
UNION ALL
SELECT
    'delegate' AS scope, dump_id, CAST(NULL AS INT) AS run_index,
    event_name, instruction_id, call_count,
    call_ns AS execute_ns, CAST(NULL AS DOUBLE) AS kernel_ns,
    op_ns AS delegate_ns,
    CASE WHEN op_ns <= call_ns THEN call_ns - op_ns END AS tax_ns
FROM (
    SELECT
        dump_id, instruction_id,
        max(CASE WHEN kind = 'delegate_call' THEN event_name END) AS event_name,
        CAST(sum(CASE WHEN kind = 'delegate_call' THEN event_count END) AS BIGINT)
            AS call_count,
        whole_sum(CASE WHEN kind = 'delegate_call' THEN total_ns ELSE 0e0 END)
            AS call_ns,
        CASE
            WHEN count(CASE WHEN kind = 'delegate_op' THEN 1 END) > 0 THEN whole_sum(
                CASE WHEN kind = 'delegate_op' THEN total_ns ELSE 0e0 END
            )
        END AS op_ns
    FROM complete_run_totals
    WHERE kind IN ('delegate_call', 'delegate_op')
    GROUP BY dump_id, run_signature_id, instruction_id
) AS d
WHERE call_count > 0
