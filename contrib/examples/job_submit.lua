-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- job_submit.lua - turns co-location on for the batch jobs of a partition. slurmctld reads it from
-- the folder of slurm.conf, with JobSubmitPlugins=lua there.
--
-- A job gets COLOC=on in its environment, as if its user had set it: a user's own COLOC stays,
-- --coloc=off on a command line wins, and the job's sruns inherit it. Slurm lets this script write
-- the environment of batch jobs only. For srun and salloc give the plugin default=on in
-- plugstack.conf, and coloc.yaml the same partitions under allow: partitions.

local partitions = { shared = true }

-- The default partition, for jobs that name none; nil: leave them alone.
local default_partition = nil

local function wanted(job)
  local names = job.partition or default_partition
  if not names then
    return false
  end
  -- "a,b": every one of them, as nobody knows yet which it will be.
  for name in string.gmatch(names, "[^,]+") do
    if not partitions[name] then
      return false
    end
  end
  return true
end

function slurm_job_submit(job, parts, uid)
  if job.script and wanted(job) and not job.environment["COLOC"] then
    job.environment["COLOC"] = "on"
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, parts, uid)
  return slurm.SUCCESS
end

return slurm.SUCCESS
