-- What the machine did while each step ran: samples of its stage, and the step's own speed.
-- Values: none. Tables: steps, monitor; placed (step, stage, phase), where each step ran.
CREATE OR REPLACE TABLE step_resources AS
SELECT
    steps.step,
    steps.operator,
    placed.stage,
    count(monitor.elapsed) AS samples,
    steps.rows_in / nullif(steps.seconds, 0) AS rows_per_second,
    steps.bytes_in / nullif(steps.seconds, 0) AS bytes_per_second,
    min(monitor.cpu) AS cpu_min,
    avg(monitor.cpu) AS cpu_avg,
    max(monitor.cpu) AS cpu_max,
    min(monitor.memory) AS memory_min,
    CAST(avg(monitor.memory) AS BIGINT) AS memory_avg,
    max(monitor.memory) AS memory_max,
    min(monitor.gpu) AS gpu_min,
    avg(monitor.gpu) AS gpu_avg,
    max(monitor.gpu) AS gpu_max
FROM steps
JOIN placed USING (step)
LEFT JOIN monitor
    ON monitor.worker = 'all' AND monitor.stage = placed.stage AND monitor.phase = placed.phase
GROUP BY ALL
ORDER BY steps.step
