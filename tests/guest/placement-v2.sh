#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# placement-v2.sh - two sockets, cgroup v2: jobs are placed on whole sockets, every thread follows,
# and what Slurm set comes back.
[ -n "${COLOC_GUEST:-}" ] || exec "$(dirname "$0")/guest" --timeout 280 "$(realpath "$0")"
. "$(dirname "$0")/../live/lib.sh"
. "$(dirname "$0")/../live/spine.sh"
# shellcheck disable=SC2034 # for start_spine
spine_timeout_ms=3000
export MINISLURM_POLL=0.5
start_spine 'policy: fair' 'interval_ms: 500' 'tick_ms: 1000'

# Linux as a process (guest's --uml) has -1 for all.
package_of() {
  local package
  package=$(cat "/sys/devices/system/cpu/cpu$1/topology/physical_package_id")
  if [ "$package" -ge 0 ]; then echo "$package"; else echo $(($1 / 4)); fi
}
# The packages of a cpulist: "0", "1", "0 1".
packages() {
  local first last part c
  for part in ${1//,/ }; do
    first=${part%-*} last=${part#*-}
    for c in $(seq "$first" "$last"); do package_of "$c"; done
  done | sort -u | paste -sd' '
}
packages_of() { packages "$(cpuset_of "$1")"; }
# The CPUs of cpulists, one list of numbers.
cpus() {
  local r all=$*
  for r in ${all//,/ }; do seq "${r%-*}" "${r#*-}"; done | sort -nu | paste -sd' '
}
# threads_on_set NAME RANKS: seen from /proc, each thread of a job's step has where it was placed, or,
# where Slurm bound the ranks to CPUs of their own, its rank's part: as many parts as ranks, none
# overlaps another, together they are the set.
threads_on_set() {
  local t dir masks set
  dir=$(step_dir "$(job_id "$1")" 0)
  set=$(cpus "$(placed_in "$dir")")
  masks=$(for t in $(step_threads "$dir"); do
    sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$t/status"
  done | sort -u)
  # shellcheck disable=SC2086 # lists
  [ "$(wc -l <<<"$masks")" = "$2" ] && [ "$(cpus $masks)" = "$set" ] &&
    [ "$(for t in $masks; do cpus "$t"; done | wc -w)" = "$(wc -w <<<"$set")" ]
}
rows() { ctl --json status | tr -d ' \n' | sed 's/.*"ledger_rows":\([0-9]*\).*/\1/'; }

phase() { diag "$SECONDS s: $*"; }

phase "the node"
like "$(ctl --json status)" '"actuator": ?"cgroup-v2"' "the backend is cgroup v2"
is "$(packages 0-3) $(packages 4-7) $(packages 0-7)" "0 1 0 1" "the guest has two sockets of four cores"

phase "what Slurm sets, without us; then with us"
# At a time: an emulated machine takes seconds for one.
spawn_all() {
  local j pids=() names=$1
  shift
  for j in $names; do
    spawn "$j" "${@//%/$j}" &
    pids+=($!)
  done
  wait "${pids[@]}"
}
# The same for all jobs, so their numbers do not matter.
state() { kernel_state | sed -E 's/^job_[0-9]+\//a /' | sort -u; }
spawn a -n2 -c2
slurms=$(state)
like "$slurms" 'a step_0 sleep 0-1$' "what Slurm sets is known"
stop_steps

phase "fair: an equal block each, sockets not torn"
spawn a --coloc=on -n2 -c2
like "$(born a)" '^(0-3|4-7)$' "a step alone is born on the whole node, a rank on half of it"
spawn b --coloc=on -n2 -c2
is "$(packages_of a) $(packages_of b)" "$(packages_of a) $((1 - $(packages_of a)))" "two jobs: a socket each"
spawn_all "c d" --coloc=on -n2 -c2
is "$(for j in a b c d; do packages_of $j; done | sort | uniq -c | awk '{print $1, $2}' | paste -sd' ')" \
  "2 0 2 1" "four jobs: two on each socket"
is "$(for j in a b c d; do cpuset_of $j; done | sort | paste -sd' ')" "0-1 2-3 4-5 6-7" "of two cores each"
for j in a b c d; do
  ok "$j: its ranks have the step's CPUs between them" threads_on_set $j 2
done
# shellcheck disable=SC2046 # a list
is "$(cpus $(mask_of a))" "$(cpus "$(cpuset_of a)")" "its program too"

phase "another step of a job makes Slurm write the job level"
set_a=$(cpuset_of a)
srun --overlap --jobid="$(job_id a)" -n1 true
is "$(cpuset_of a)" "$set_a" "a further step of the job leaves the first where it is"
ok "with its threads" threads_on_set a 2
echo 0-7 >"$(step_dir "$(job_id a)" 0)/cpuset.cpus"
ok "a step that was rewritten is placed again" wait_for 10 cpuset_is a "$set_a"
ok "with its threads" wait_for 10 threads_on_set a 2

phase "back"
same() { [ "$(state)" = "$slurms" ]; }
differs() { ! same; }
ctl release >/dev/null
is "$(state)" "$slurms" "release: all as Slurm set it"
is "$(rows)" 0 "the ledger is empty"
stop_steps

spawn_all "a b c d" --coloc=on -n2 -c2
# Registrations are written with the accounting, at a tick.
kept() { [ "$(acct -P -n -o JobID,State | grep -c '\.0|RUNNING')" = 4 ]; }
ok "four steps are accounted" wait_for 10 kept
stop "$colocd_pid" KILL
ok "killed: the placements stay" differs
start_colocd "$tmp/coloc.yaml" "$socket"
ok "a new colocd has them in its ledger" test "$(rows)" -gt 0
stop "$pid"
is "$(state)" "$slurms" "kill -9, start, stop: all as Slurm set it"
is "$(squeue -h | wc -l)" 4 "the steps go on"
stop_steps

# How a policy chooses among sockets needs no older kernel: where Linux is emulated, with `--full' only.
[ -z "$emulated" ] || [ -n "${COLOC_LONG:-}" ] || done_testing

phase "lira: by stored profiles; the two most loading jobs never share a socket"
# No live samples: what sleeps would count as idle, and work takes the emulator too long.
# And by walls, which a job's level has to be wide enough for.
sed -i 's/^policy:.*/policy: lira\nrebind: cpuset/; s/^interval_ms:.*/interval_ms: 60000/' "$tmp/coloc.yaml"
start_colocd "$tmp/coloc.yaml" "$socket"
for p in a:10e8 b:2e8 c:5e8 d:8e8; do
  echo '{"schema":1,"type":"'"${p%:*}"'","user":"","node_type":"","source":"cachegrind","threads":1,"solo_s":1,' \
    '"utilization":1,"signals":{"loads_per_s":'"${p#*:}"',"llc_refs_per_s":1e6,"llc_misses_per_s":1e5},' \
    '"ll_bytes":16777216,"count":1}'
done >"$tmp/profiles"
ok "profiles are put in" ctl profile import "$tmp/profiles"
spawn_all "a b c d" --coloc-policy=lira --coloc-type=% -n1
apart() { [ "$(packages_of "$1")" != "$(packages_of "$2")" ]; }
ok "the two that load most are on different sockets" wait_for 5 apart a d
ok "so are the two that load least" apart b c
is "$(for j in a b c d; do packages_of $j; done | sort | uniq -c | awk '{print $1, $2}' | paste -sd' ')" \
  "2 0 2 1" "two on each socket"
like "$(ctl --json jobs)" '"policy": ?"lira"' "placed by lira"
for j in a b c d; do
  ok "$j: every thread has the step's CPUs" threads_on_set $j 1
done
# What Slurm writes at a further step where the allocation is not the whole node: here the test's hand.
echo 0 >"$(job_dirs "$(job_id d)")/cpuset.cpus"
set_d=$(cat "$(step_dir "$(job_id d)" 0)/cpuset.cpus")
ok "a job level that was narrowed is widened, its step placed again" wait_for 10 cpuset_is d "$set_d"
ok "with its threads" wait_for 10 threads_on_set d 1
ctl release >/dev/null
is "$(cat "$(job_dirs "$(job_id d)")/cpuset.cpus")" 0 "release: the job level as it was found"
[ "$tests_failed" = 0 ] || { ctl jobs && ctl explain "$(job_id a).0" && tail -40 "$tmp/colocd.out"; } 2>&1 | sed 's/^/# /'
stop_steps
is "$(rows)" 0 "the ledger is empty at the end"
stop "$pid"
ok "no cgroup of the tests is left" wait_for 10 no_jobs
done_testing
