#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kinds.sh - every kind of job that Slurm knows, on three slurmd that share this kernel. Each kind
# runs twice, without --coloc and with it, beside a step that shares the node. It has to do the
# same both times; with it, its steps are registered, placed where colocd says and apart from the
# other, accounted once, and nothing of them is left.
#
# One line for each, from which doc/compatibility.md is made:
#   kind: NAME: ok | FAIL (REASON) | skip (REASON)
# shellcheck disable=SC2086 # $with is no word, or one
# Where things are is taken from /proc/PID/cgroup, so this is the same on every hierarchy; two
# CPUs are enough.
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2034 # start_spine's
spine_nodes=${COLOC_KINDS_NODES:-3}
. "$(dirname "$0")/spine.sh"
# shellcheck disable=SC2034 # start_spine's
spine_cluster=(--memory 1000 --conf DefMemPerNode=60
  --conf "SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,bf_interval=1")
oci=''
for runtime in runc crun; do
  ! command -v $runtime >/dev/null || oci=${oci:-$runtime}
done
[ -z "$oci" ] || spine_cluster+=(--oci "$oci")
short_steps=${COLOC_KINDS_STEPS:-200}
[ -z "$emulated" ] || short_steps=${COLOC_KINDS_STEPS:-20}
start_spine 'policy: fair' ${emulated:+'interval_ms: 500' 'tick_ms: 500'}
first=$(sinfo -h -N -o %N | sort | head -1)

# --- the program of every step: says who it is, waits for leave, then does its part. Where its step
# is shows in a child of it, which has run by then: who only waits is not moved -----

mkdir -p "$tmp/tasks"
cat >"$tmp/task" <<X
#!/bin/bash
($has_run; exec sleep 3600) >/dev/null 2>&1 &
runner=\$!
step=\${SLURM_STEP_ID:-batch}
[ "\$step" != 4294967291 ] || step=batch
job=\$SLURM_JOB_ID
# The components of a het job have one task each here, and jobs of their own.
for v in SLURM_JOB_ID_PACK_GROUP_\$SLURM_PROCID SLURM_JOB_ID_HET_GROUP_\$SLURM_PROCID; do
  [ -z "\${!v:-}" ] || job=\${!v}
done
me=$tmp/tasks/\$job.\$step.\${SLURM_PROCID:-0}.\$\$
until [ "\$(cat /proc/\$runner/comm)" = sleep ]; do sleep 0.05; done
echo "\$job.\$step \$runner \${SLURM_PROCID:-0}" >"\$me.new"
mv "\$me.new" "\$me.is"
until [ -e $tmp/go ]; do sleep 0.1; done
kill -KILL "\$runner"
exec "\$@"
X
chmod 755 "$tmp/task"
task=$tmp/task

tasks_are() { [ "$(find "$tmp/tasks" -name '*.is' | wc -l)" -ge "$1" ]; }
# wait_tasks N: until N tasks wait for leave.
wait_tasks() { wait_for 120 tasks_are "$1" || fault "only $(find "$tmp/tasks" -name '*.is' | wc -l) of $1 tasks came"; }
fresh() { rm -rf "$tmp/go" "$tmp/tasks" && mkdir "$tmp/tasks"; }
go() { touch "$tmp/go"; }

# --- where something is ---------------------------------------------------------------------------

# The cpuset directory of a process, in whatever hierarchy has the controller.
cpuset_dir() {
  local path
  path=$(sed -nE 's/^[0-9]+:([^:]*,)?cpuset(,[^:]*)?://p' "/proc/$1/cgroup" 2>/dev/null)
  if [ -n "$path" ]; then
    echo "$(awk '/ - cgroup [^ ]+ .*cpuset/ { print $5; exit }' /proc/self/mountinfo)$path"
  else
    echo "$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)$(sed -n 's/^0:://p' "/proc/$1/cgroup")"
  fi
}
# The CPUs in force there.
cpus_of_pid() {
  local dir
  dir=$(cpuset_dir "$1")
  cat "$dir/cpuset.cpus.effective" 2>/dev/null || cat "$dir/cpuset.effective_cpus" 2>/dev/null
}
mask_of_pid() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null; }
# "0-1,4" -> "0 1 4 "
each_cpu() {
  local part
  for part in ${1//,/ }; do seq -s' ' "${part%-*}" "${part#*-}" | tr '\n' ' '; done
}
# inside A B: every CPU of A is in B.
inside() {
  local c b
  b=" $(each_cpu "$2")"
  for c in $(each_cpu "$1"); do [[ $b == *" $c "* ]] || return 1; done
}
meets() {
  local c b
  b=" $(each_cpu "$2")"
  for c in $(each_cpu "$1"); do [[ $b != *" $c "* ]] || return 0; done
  return 1
}
# The step directories of our nodes that are left, whatever they are called above.
step_dirs() { find /sys/fs/cgroup -type d -name 'step_*' -path "*$node*" 2>/dev/null; }
ledger_rows() { ctl --json status | tr -d ' \n' | sed 's/.*"ledger_rows":\([0-9]*\).*/\1/'; }
# "STEP STATE CORESET" of each that the daemon knows.
known() { ctl jobs 2>/dev/null | awk '$1 ~ /^[0-9]+\./ { print $1, $5, $7 }'; }

# --- the step beside -------------------------------------------------------------------------------

beside=''
start_beside() {
  fresh
  # A task of its own, which does not wait for leave.
  srun -J beside -w "$first" -n1 --coloc=on bash -c "echo \$\$ >$tmp/beside.new
    mv $tmp/beside.new $tmp/beside; $has_run; exec sleep 3600" >"$tmp/beside.out" 2>&1 &
  started_pids+=("$!")
  wait_for 40 test -s "$tmp/beside" || diag "the step beside did not start: $(cat "$tmp/beside.out")"
  beside=$(cat "$tmp/beside")
  beside_job=$(squeue -h -n beside -o %A | tail -1)
  wait_for 20 beside_alone
}
stop_beside() {
  [ -n "$beside" ] || return 0
  scancel "$beside_job"
  rm -f "$tmp/beside"
  beside=''
  wait_for 40 nobody
}
nobody() { [ -z "$(known)" ] && [ -z "$(step_dirs)" ]; }
# It has its whole envelope again, so nobody is placed beside it any more.
beside_alone() {
  [ "$(known | wc -l)" = 1 ] && [ "$(cpus_of_pid "$beside")" = "$envelope" ] &&
    [ "$(mask_of_pid "$beside")" = "$envelope" ]
}
envelope=$(cat /sys/devices/system/cpu/online)

# --- one kind --------------------------------------------------------------------------------------

fault() { faults+=("$*"); }
# What has to be the same without us and with us.
say() { said+="$* | "; }
# expect STEP STATE: one line in the accounting.
expect() { expected+=("$1|$2"); }

# check_steps [apart]: what waits now is where it should be (with us), or unknown to us (without).
# Where others come at the same time they may still be moving: then it is looked at again.
check_steps() {
  local had=("${faults[@]+"${faults[@]}"}") try
  for try in 1 2 3 4 5; do
    faults=("${had[@]+"${had[@]}"}")
    look_at_steps "$@"
    [ ${#faults[@]} -gt ${#had[@]} ] || return 0
    sleep 0.$((try * 2 - 1))
  done
}
look_at_steps() {
  local id pid proc table rows mask row state set hit
  table=$(known)
  while read -r id pid proc; do
    rows=$(grep -E "^${id//./\\.}(@[0-9]+)? " <<<"$table")
    if [ -z "$with" ]; then
      [ -z "$rows" ] || fault "$id was registered without --coloc"
      continue
    fi
    [ -n "$rows" ] || { fault "$id is not registered"; continue; }
    mask=$(mask_of_pid "$pid") hit=''
    while read -r row state set; do
      [ "$state" != placed ] || ! inside "$mask" "$set" || hit=$row
    done <<<"$rows"
    [ -n "$hit" ] || fault "$id task $proc is on '$mask', the daemon says: $(paste -sd';' <<<"$rows")"
    if [ "${1:-}" = apart ] && [ -n "$beside" ]; then
      ! meets "$mask" "$(mask_of_pid "$beside")" || fault "$id on '$mask' is not apart from the step beside it"
    fi
  done < <(cat "$tmp"/tasks/*.is)
}

settled() { [ "$(known | wc -l)" = "${beside:+1}" ] || { [ -z "$beside" ] && [ -z "$(known)" ]; }; }
accounted() {
  local rows want
  rows=$(acct -P -n -o JobID,State)
  for want in "${expected[@]}"; do
    [ "$(grep -cxF "$want" <<<"$rows")" = 1 ] || return 1
  done
}
# check_end ROWS: everything is put back.
check_end() {
  local want
  wait_for 40 settled || fault "still registered: $(known | paste -sd';')"
  if [ -n "$beside" ]; then
    wait_for 20 beside_alone || fault "the step beside it did not get its CPUs back: $(cpus_of_pid "$beside")"
    wait_for 10 rows_are "$1" || fault "the ledger has $(ledger_rows) rows, $1 before"
  else
    wait_for 10 rows_are 0 || fault "the ledger has $(ledger_rows) rows"
    wait_for 20 nobody || fault "cgroups are left: $(step_dirs | paste -sd' ')"
  fi
  wait_for 10 accounted || for want in "${expected[@]}"; do
    fault "accounting: $(acct -P -n -o JobID,State | grep -cxF "$want") times $want ($(acct -P -n -o JobID,State | grep "^${want%%.*}\." | paste -sd' '))"
  done
  node_usable || fault "node state: $(node_state | paste -sd' ')"
}
rows_are() { [ "$(ledger_rows)" = "$1" ]; }
node_usable() { ! node_state | grep -qE 'drain|down'; }

only=${COLOC_KINDS_ONLY:-}
# kind NAME FUNCTION
kind() {
  local name=$1 fn=$2 before without
  [ -z "$only" ] || [[ " $only " == *" $name "* ]] || return 0
  faults=() why_skip=''
  before=$(ledger_rows)
  for with in '' --coloc=on; do
    said='' expected=()
    fresh
    "$fn"
    go
    [ -z "$why_skip" ] || break
    if [ -z "$with" ]; then
      without=$said
      wait_for 40 only_beside || fault "jobs are left: $(squeue -h | paste -sd' ')"
    fi
  done
  if [ -n "$why_skip" ]; then
    echo "kind: $name: skip ($why_skip)"
    return
  fi
  [ "$said" = "$without" ] || fault "with us: $said without: $without"
  wait_for 40 only_beside || fault "jobs are left: $(squeue -h | paste -sd' ')"
  check_end "$before"
  verdict $((${#faults[@]} > 0)) "$name: $said" "${faults[@]+"${faults[@]}"}"
  if [ ${#faults[@]} -eq 0 ]; then
    echo "kind: $name: ok"
  else
    echo "kind: $name: FAIL (${faults[0]})"
  fi
}
only_beside() { [ "$(squeue -h -o %A | sort -u | grep -vxc "${beside_job:-none}")" = 0 ]; }
skip() { why_skip=$*; }

# step ARGS...: an srun in the background; sets step_pid.
step() {
  srun $with -w "$first" "$@" >"$tmp/step.out" 2>&1 </dev/null &
  step_pid=$!
  started_pids+=("$step_pid")
}
# its_end PID: says its exit status.
its_end() {
  wait "$1"
  say "rc $?"
}
# batch [sbatch options] <<SCRIPT: sets job.
batch() {
  cat >"$tmp/batch.sh"
  job=$(sbatch --parsable $with -w "$first" -o "$tmp/batch.out" -e "$tmp/batch.out" "$@" "$tmp/batch.sh")
}
exit_of() { scontrol show job "$1" | sed -nE 's/.*JobState=([A-Z_]*).*/\1/p; s/.* ExitCode=([0-9:]*).*/\1/p' | paste -sd' '; }
# What a batch job wrote but for Slurm's own lines, which 26.05 begins with the time.
written() { grep -vE '^((slurmstepd|srun)[^ ]*: |\[[0-9]{4}-[0-9T:.-]+\] error: )' "$tmp/batch.out"; }
# batch_end: until the job is over; says how it ended and what it wrote.
batch_end() {
  wait_for 90 job_over "$job" || fault "job $job does not end"
  say "$(exit_of "$job") wrote $(written | paste -sd,)"
}
job_over() {
  case $(job_state "$1") in
  COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | OUT_OF_MEMORY) ;;
  *) return 1 ;;
  esac
}
this_job() { sed -n '1s/^\([0-9]*\)\..*/\1/p' "$tmp"/tasks/*.is 2>/dev/null | sort -n | head -1; }
# with us, a batch shell is a step of its own
expect_batch() { [ -z "$with" ] || expect "$job.batch" "$1"; }

srun_step() {
  step -n1 "$task" bash -c 'exit 5'
  wait_tasks 1
  check_steps apart
  expect "$(this_job).0" FAILED
  go
  its_end "$step_pid"
}
srun_no_program() {
  run srun $with -w "$first" -n1 "$tmp/none"
  say "rc $rc"
}
sbatch_job() {
  batch <<X
#!/bin/bash
srun -n1 $task bash -c 'exit 4'
echo step \$?
exit 3
X
  wait_tasks 1
  check_steps apart
  go
  batch_end
  expect_batch FAILED
  expect "$job.0" FAILED
}
array_job() {
  local index first_id
  cat >"$tmp/array.sh" <<X
#!/bin/bash
srun -n1 $task bash -c 'exit \$SLURM_ARRAY_TASK_ID'
exit \$?
X
  first_id=$(sbatch --parsable $with -w "$first" -o "$tmp/array.%a" --array=1-3 "$tmp/array.sh")
  wait_tasks 3
  check_steps
  for index in 1 2 3; do
    expect "${first_id}_$index.0" FAILED
    expect "${first_id}_$index.batch" FAILED
  done
  go
  array_over() { [ "$(squeue -h -j "$first_id" 2>/dev/null | wc -l)" = 0 ]; }
  wait_for 60 array_over
  say "$(scontrol show job "$first_id" | grep -oE '(ArrayTaskId| ExitCode)=[0-9:]*' | paste -sd' \n' | sort | paste -sd,)"
}
het_job() {
  srun $with -n1 "$task" bash -c 'exit 2' : $with -n1 "$task" bash -c 'exit 3' >"$tmp/step.out" 2>&1 &
  step_pid=$!
  started_pids+=("$step_pid")
  wait_tasks 2
  check_steps
  expect "$(this_job).0" FAILED
  expect "$(($(this_job) + 1)).0" FAILED
  go
  its_end "$step_pid"
}
overlap_steps() {
  batch <<X
#!/bin/bash
srun --overlap -n1 $task bash -c 'exit 1' & a=\$!
srun --overlap -n1 $task bash -c 'exit 2' & b=\$!
wait \$a; echo \$?
wait \$b; echo \$?
X
  wait_tasks 2
  check_steps
  go
  batch_end
  expect_batch COMPLETED
  expect "$job.0" FAILED
  expect "$job.1" FAILED
}
# Each step gets a core of the allocation from Slurm.
packed_steps() {
  batch -n2 <<X
#!/bin/bash
srun --exact -n1 -c1 --mem=20 $task true & a=\$!
srun --exact -n1 -c1 --mem=20 $task true & b=\$!
wait \$a; echo \$?
wait \$b; echo \$?
X
  wait_tasks 2
  check_steps
  go
  batch_end
  expect_batch COMPLETED
  expect "$job.0" COMPLETED
  expect "$job.1" COMPLETED
}
salloc_srun() {
  salloc $with -w "$first" -n1 bash -c "srun -n1 $task bash -c 'exit 6'; echo step \$?; exit 7" \
    >"$tmp/salloc.out" 2>"$tmp/salloc.err" </dev/null &
  step_pid=$!
  started_pids+=("$step_pid")
  wait_tasks 1
  check_steps apart
  expect "$(this_job).0" FAILED
  go
  its_end "$step_pid"
  say "wrote $(paste -sd, "$tmp/salloc.out")"
}
mpirun_in_sbatch() {
  command -v mpirun >/dev/null || { skip "mpirun not found (Debian: openmpi-bin)"; return; }
  batch --mem=200 <<X
#!/bin/bash
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun --oversubscribe -n 2 $task bash -c 'exit 9' 2>/dev/null
echo mpirun \$?
X
  wait_tasks 2
  check_steps apart
  go
  batch_end
  expect_batch COMPLETED
}
several_nodes() {
  local n
  [ "$spine_nodes" -ge 3 ] || { skip "needs three nodes"; return; }
  # shellcheck disable=SC2016
  srun $with -N3 -n3 "$task" bash -c 'exit $SLURM_PROCID' >"$tmp/step.out" 2>&1 &
  step_pid=$!
  started_pids+=("$step_pid")
  wait_tasks 3
  check_steps
  n=$(this_job)
  go
  its_end "$step_pid"
  # One part of it ended with 0; each node has a line.
  [ -z "$with" ] || wait_for 10 three_lines "$n" ||
    fault "accounting: $(acct -P -n -o JobID,State | grep "^$n\." | paste -sd' ')"
}
three_lines() { [ "$(acct -P -n -o JobID,State | grep "^$1\.0" | cut -d'|' -f2 | sort | uniq -c | tr -s ' \n' ' ')" = " 1 COMPLETED 2 FAILED " ]; }
other_node() {
  local second
  second=$(sinfo -h -N -o %N | sort | sed -n 2p)
  [ -n "$second" ] || { skip "needs two nodes"; return; }
  srun $with -w "$second" -n1 "$task" bash -c 'exit 8' >"$tmp/step.out" 2>&1 &
  step_pid=$!
  started_pids+=("$step_pid")
  wait_tasks 1
  check_steps apart
  expect "$(this_job).0" FAILED
  go
  its_end "$step_pid"
}
requeued_job() {
  batch --requeue <<X
#!/bin/bash
srun -n1 $task bash -c 'exit 2'
echo step \$? in life \$SLURM_RESTART_COUNT
X
  wait_tasks 1
  check_steps apart
  scontrol requeue "$job"
  # It would wait two minutes.
  requeue_now() { job_is "$job" PENDING && scontrol update jobid="$job" StartTime=now; }
  wait_for 40 requeue_now
  fresh
  wait_tasks 1
  check_steps apart
  go
  batch_end
  [ -z "$with" ] || wait_for 10 two_lives ||
    fault "accounting: $(acct -P -n -o JobID,State | grep "^$job\." | paste -sd' ')"
}
two_lives() { [ "$(acct -P -n -o JobID | grep -cx "$job\.0")" = 2 ] && [ "$(acct -P -n -o JobID | grep -cx "$job\.batch")" = 2 ]; }
suspended_job() {
  local pid
  batch <<X
#!/bin/bash
srun -n1 $task bash -c 'exit 2'
echo step \$?
X
  wait_tasks 1
  check_steps apart
  pid=$(cut -d' ' -f2 "$tmp"/tasks/*.is)
  stands() { [[ $(sed -n 's/^State:[[:space:]]*//p' "/proc/$pid/status") == [TD]* ]]; }
  scontrol suspend "$job"
  job_is "$job" SUSPENDED || say "not suspended"
  wait_for 10 stands || say "suspended, but it runs"
  scontrol resume "$job"
  resumed() { job_is "$job" RUNNING && ! stands; }
  wait_for 10 resumed || say "it does not go on"
  check_steps apart
  go
  batch_end
  expect_batch COMPLETED
  expect "$job.0" FAILED
}
signalled_step() {
  # shellcheck disable=SC2016
  step -n1 bash -c 'trap "exit 3" USR1; '"$task"' true & wait; wait'
  wait_tasks 1
  check_steps apart
  expect "$(this_job).0" FAILED
  scancel -s USR1 "$(this_job).0"
  its_end "$step_pid"
}
cancelled_step() {
  step -n1 "$task" true
  wait_tasks 1
  check_steps apart
  expect "$(this_job).0" FAILED
  scancel "$(this_job)"
  its_end "$step_pid"
}
# It neither minds TERM nor ends: Slurm kills it.
killed_step() {
  local its_pid
  step -n1 bash -c 'trap "" TERM; exec '"$task"' true'
  wait_tasks 1
  check_steps apart
  expect "$(this_job).0" FAILED
  its_pid=$(cut -d' ' -f2 "$tmp"/tasks/*.is)
  scancel "$(this_job)"
  its_end "$step_pid"
  # srun does not wait for that.
  wait_for 30 process_gone "$its_pid" || fault "it was not killed"
}
time_limit() {
  batch <<X
#!/bin/bash
srun -n1 $task true
echo step \$?
X
  wait_tasks 1
  check_steps apart
  # Limits are whole minutes; the controller looks every half a minute.
  scontrol update jobid="$job" EndTime="$(date -d '+1 sec' +%FT%T)"
  wait_for 90 job_over "$job" || fault "job $job does not end"
  say "$(exit_of "$job")"
  expect "$job.0" FAILED
}
out_of_memory() {
  # Newer kernels list in /proc/cgroups only what cgroup v1 can have.
  grep -q '^memory[[:space:]].*1$' /proc/cgroups || grep -qsw memory /sys/fs/cgroup/cgroup.controllers ||
    { skip "the kernel has no memory controller"; return; }
  batch <<X
#!/bin/bash
srun -n1 --mem=40 $task bash -c 'x=\$(head -c 200M /dev/zero | tr "\\\\0" x); exit \${#x}'
echo step \$?
X
  wait_tasks 1
  check_steps apart
  go
  batch_end
  expect "$job.0" FAILED
}
container_step() {
  local bundle=$tmp/bundle d mounts=''
  [ -n "$oci" ] || { skip "no OCI runtime (Debian: runc)"; return; }
  mkdir -p "$bundle/rootfs"
  for d in /proc /bin /lib /lib64 /usr /dev /tmp "$tmp"; do
    [ -e "$d" ] || continue
    mkdir -p "$bundle/rootfs$d"
    mounts+=${mounts:+,}$(printf '{"destination":"%s","type":"bind","source":"%s","options":["rbind"]}' "$d" "$d")
  done
  cat >"$bundle/config.json" <<X
{"ociVersion": "1.0.2", "process": {"terminal": false, "user": {"uid": 0, "gid": 0}, "args": ["/bin/true"],
 "env": ["PATH=/usr/bin:/bin"], "cwd": "/"}, "root": {"path": "rootfs", "readonly": false},
 "mounts": [$mounts], "linux": {"namespaces": [{"type": "mount"}]}}
X
  # Not every runtime runs on every hierarchy (crun 1.8 not on a mixed one).
  "$oci" --root="$tmp/oci" run --bundle "$bundle" coloc-kinds >"$tmp/oci.out" 2>&1 ||
    { skip "$oci does not run here: $(tail -1 "$tmp/oci.out" | tr '()' '[]')"; return; }
  srun $with -w "$first" -n1 --container="$bundle" "$task" bash -c 'exit 7' >"$tmp/step.out" 2>&1 &
  step_pid=$!
  started_pids+=("$step_pid")
  wait_for 20 tasks_are 1 || { skip "Slurm $(srun --version | cut -d' ' -f2) runs no container here: $(tail -1 "$tmp/step.out" | tr '()' '[]')"; return; }
  check_steps apart
  expect "$(this_job).0" FAILED
  # It is alone meanwhile: its CPUs grow, and shrink again.
  if [ -n "$with" ]; then
    pid=$(cut -d' ' -f2 "$tmp"/tasks/*.is)
    widened() { [ "$(cpus_of_pid "$pid") $(mask_of_pid "$pid")" = "$envelope $envelope" ]; }
    stop_beside_only
    wait_for 20 widened || fault "it does not get the CPUs that became free: $(cpus_of_pid "$pid") $(mask_of_pid "$pid")"
    again_beside
    check_steps
  fi
  go
  its_end "$step_pid"
}
stop_beside_only() {
  scancel "$beside_job"
  rm -f "$tmp/beside"
  beside_gone() { [ "$(known | wc -l)" = 1 ]; }
  wait_for 40 beside_gone
}
again_beside() {
  srun -J beside -w "$first" -n1 --coloc=on bash -c "echo \$\$ >$tmp/beside.new
    mv $tmp/beside.new $tmp/beside; $has_run; exec sleep 3600" >"$tmp/beside.out" 2>&1 &
  started_pids+=("$!")
  wait_for 40 test -s "$tmp/beside"
  beside=$(cat "$tmp/beside")
  beside_job=$(squeue -h -n beside -o %A | tail -1)
  apart_again() { ! meets "$(mask_of_pid "$beside")" "$(mask_of_pid "$pid")"; }
  wait_for 20 apart_again
}
many_short_steps() {
  batch <<X
#!/bin/bash
for s in \$(seq $short_steps); do
  srun -n1 bash -c "exit \$((s % 3))"
  echo \$?
done | sort | uniq -c | tr -s ' '
X
  wait_for $((60 + short_steps)) job_over "$job" || fault "job $job does not end"
  say "$(exit_of "$job") wrote $(written | paste -sd,)"
  [ -z "$with" ] || wait_for 10 all_short ||
    fault "accounting: $(acct -P -n -o JobID | grep -c "^$job\.[0-9]") lines of $short_steps steps"
}
all_short() { [ "$(acct -P -n -o JobID,State | grep "^$job\.[0-9]" | grep -cE 'COMPLETED|FAILED')" = "$short_steps" ]; }
# Ranks that Slurm bound side by side stay side by side. Alone: on two CPUs there is one each.
bound_ranks() {
  local half=$(($(nproc) / 2))
  step -n2 -c"$half" "$task" true
  wait_tasks 2
  check_steps
  say "$(while read -r _ pid proc; do echo "$proc:$(mask_of_pid "$pid")"; done < <(cat "$tmp"/tasks/*.is) | sort | paste -sd' ')"
  expect "$(this_job).0" COMPLETED
  go
  its_end "$step_pid"
}

# --- all of them -----------------------------------------------------------------------------------

start_beside
kind srun srun_step
kind no-such-program srun_no_program
kind sbatch sbatch_job
kind array array_job
kind het het_job
kind overlap overlap_steps
kind packed-steps packed_steps
kind salloc salloc_srun
kind mpirun mpirun_in_sbatch
kind multi-node several_nodes
kind several-slurmd other_node
kind requeue requeued_job
kind suspend suspended_job
kind signal signalled_step
kind cancel cancelled_step
kind kill killed_step
kind time-limit time_limit
kind out-of-memory out_of_memory
kind container container_step
kind short-steps many_short_steps
stop_beside
kind bound-ranks bound_ranks

is "$(ledger_rows)" 0 "the ledger is empty at the end"
is "$(step_dirs)" "" "no cgroup is left"
is "$(node_state)" idle "the nodes are idle, not drained"
done_testing
