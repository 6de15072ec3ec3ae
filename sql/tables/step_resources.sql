-- What each step used: its own speed, its share of what its stage used, and the rest where the step was alone in its stage.
-- Values: none. Tables: steps, monitor; placed (step, stage, phase), where each step ran.
CREATE OR REPLACE TABLE step_resources AS
WITH used AS (
    SELECT
        stage,
        phase,
        count(*) AS samples,
        sum(cpu_seconds) AS cpu_seconds,
        -- rounding must not put the mean of equal values beside them
        greatest(min(cpu), least(max(cpu), coalesce(sum(cpu * lasted) / nullif(sum(lasted), 0), avg(cpu)))) AS cpu_avg,
        min(cpu) AS cpu_min,
        max(cpu) AS cpu_max,
        min(memory) AS memory_min,
        CAST(avg(memory) AS BIGINT) AS memory_avg,
        max(memory) AS memory_max,
        min(gpu) AS gpu_min,
        avg(gpu) AS gpu_avg,
        max(gpu) AS gpu_max
    FROM (  -- a row is about the time since the row before
        SELECT *, elapsed - lag(elapsed, 1, 0) OVER (ORDER BY elapsed) AS lasted FROM monitor WHERE worker = 'all'
    )
    GROUP BY ALL
),
parts AS (  -- the measured seconds of a step divide what the steps of a stage used together
    SELECT
        placed.*,
        steps.seconds / nullif(sum(steps.seconds) OVER together, 0) AS share,
        count(*) OVER together = 1 AS alone
    FROM placed
    JOIN steps USING (step)
    WINDOW together AS (PARTITION BY placed.stage, placed.phase)
)
SELECT
    steps.step,
    steps.operator,
    parts.stage,
    coalesce(used.samples, 0) AS samples,
    steps.rows_in / nullif(steps.seconds, 0) AS rows_per_second,
    steps.bytes_in / nullif(steps.seconds, 0) AS bytes_per_second,
    parts.share,
    parts.share * used.cpu_seconds AS cpu_seconds,
    parts.share * used.cpu_avg AS cpu_avg,
    CASE WHEN parts.alone THEN used.cpu_min END AS cpu_min,
    CASE WHEN parts.alone THEN used.cpu_max END AS cpu_max,
    CASE WHEN parts.alone THEN used.memory_min END AS memory_min,
    CASE WHEN parts.alone THEN used.memory_avg END AS memory_avg,
    CASE WHEN parts.alone THEN used.memory_max END AS memory_max,
    CASE WHEN parts.alone THEN used.gpu_min END AS gpu_min,
    CASE WHEN parts.alone THEN used.gpu_avg END AS gpu_avg,
    CASE WHEN parts.alone THEN used.gpu_max END AS gpu_max,
    used.cpu_seconds AS stage_cpu_seconds,
    used.memory_max AS stage_memory_max
FROM steps
JOIN parts USING (step)
LEFT JOIN used ON used.stage = parts.stage AND used.phase = parts.phase
ORDER BY steps.step
