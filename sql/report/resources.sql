-- What the run used of the machine in each of its parts, in the order in which they ran.
-- Values: none.
SELECT
  stage,
  phase,
  count(*) AS looks,
  avg(cpu) AS cpu_avg,
  max(cpu) AS cpu_max,
  max(memory) AS memory_max,
  max(gpu) AS gpu_max,
  avg(read_per_second) AS read_avg,
  avg(written_per_second) AS written_avg,
  min(disk_free) AS disk_free
FROM monitor
WHERE worker = 'all'
GROUP BY stage, phase
ORDER BY min(elapsed)
