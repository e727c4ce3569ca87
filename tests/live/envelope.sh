#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# envelope.sh - envelope: node. With select/cons_tres jobs have cores of their own; steps are placed
# on those of all co-located jobs, also outside their own, and the job, Slurm and the kernel are as
# without us: next steps start, nothing is left. With select/linear it is as envelope: allocation.
# Where Slurm's cpusets below a step keep it inside its job, colocd says so and the rest holds.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
# shellcheck disable=SC2034 # start_spine's
spine_cluster=(--select cons_tres)
start_spine 'policy: fair' 'envelope: node'

like "$(ctl --json status)" '"envelope": ?"node"' "status says so"
rows() { ctl --json status | tr -d ' \n' | sed 's/.*"ledger_rows":\([0-9]*\).*/\1/'; }
cpuset_file() {
  local path
  path=$(sed -nE 's/^[0-9]+:([^:]*,)?cpuset(,[^:]*)?://p' "/proc/$1/cgroup" 2>/dev/null)
  if [ -n "$path" ]; then
    echo "$(awk '/ - cgroup [^ ]+ .*cpuset/ { print $5; exit }' /proc/self/mountinfo)$path/cpuset.cpus"
  else
    echo "$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)$(sed -n 's/^0:://p' "/proc/$1/cgroup")/cpuset.cpus.effective"
  fi
}
mask() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$1/status"; }
known() { ctl jobs | awk '$1 ~ /^[0-9]+\./ { print $5, $7 }'; }
own_dirs() { find /sys/fs/cgroup/cpuset/coloc -mindepth 1 -name "slurm_$node+*" 2>/dev/null; }

# A shell that goes for a program: what starts others is not moved while it waits.
cp "$(command -v bash)" "$tmp/app"
# A job whose shell starts a step, and another when told to.
job() {
  local name=$1
  shift
  cat >"$tmp/$name.sh" <<X
#!/bin/bash
srun --overlap -n1 $tmp/app -c '$has_run; echo \$\$ >$tmp/pid.$name.new; mv $tmp/pid.$name.new $tmp/pid.$name; trap "exit 4" USR1; while :; do $tmp/app -c "$has_run; exec sleep 2"; done' &
step=\$!
until [ -e $tmp/next ]; do sleep 0.1; done
srun --overlap -n1 bash -c 'sed -n "s/^Cpus_allowed_list:.//p" /proc/self/status; exit 3' >$tmp/next.$name 2>&1
echo next \$?
wait \$step
echo first \$?
X
  sbatch --parsable -J "$name" -n1 -c1 -o "$tmp/out.$name" "$@" "$tmp/$name.sh" >"$tmp/id.$name"
  wait_for 30 test -s "$tmp/pid.$name" || diag "$name did not start: $(cat "$tmp/out.$name")"
}
pid() { cat "$tmp/pid.$1"; }
cpus() { mask "$(pid "$1")"; }
wall() { cat "$(cpuset_file "$(pid "$1")")"; }
allocated() { scontrol -d show job "$(cat "$tmp/id.$1")" | sed -n 's/.*CPU_IDs=\([0-9,-]*\).*/\1/p'; }

# Slurm packs four onto the two cores, two and two; those of one core stay, with one of the other.
jobs=(a b c d)
# On more cores than two: as many more that take them.
extra=$(($(nproc) - 2))
for i in $(seq $extra); do
  sbatch -J "filler$i" -n1 -c1 -o /dev/null --wrap 'sleep 3600' >/dev/null
done
for j in "${jobs[@]}"; do job "$j" --coloc=on; done
diag "allocations: $(for j in "${jobs[@]}"; do echo "$j=$(allocated "$j")"; done | paste -sd' ')"
by_core=$(for j in "${jobs[@]}"; do echo "$(allocated "$j") $j"; done | sort)
core=$(cut -d' ' -f1 <<<"$by_core" | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
read -r -a pair < <(awk -v c="$core" '$1 == c { print $2 }' <<<"$by_core" | head -2 | paste -sd' ')
third=$(awk -v c="$core" '$1 != c { print $2 }' <<<"$by_core" | head -1)
if [ ${#pair[@]} != 2 ] || [ -z "$third" ]; then
  diag "$by_core"
  scancel -u root
  skip_all "Slurm did not put two jobs on one core"
fi
for j in "${jobs[@]}"; do
  case " ${pair[*]} $third " in *" $j "*) ;; *) scancel "$(cat "$tmp/id.$j")" ;; esac
done
two() { [ "$(known | grep -c placed)" = "$1" ]; }
wait_for 20 two 3
# Somebody of the pair, or the third, is outside his allocation: three steps, two cores, equal shares.
outside=''
find_outside() {
  local j
  for j in "${pair[@]}" "$third"; do
    [ "$(cpus "$j")" = "$(allocated "$j")" ] || outside=$j
  done
  [ -n "$outside" ]
}
wait_for 5 find_outside ||
  diag "fair: $(for j in "${pair[@]}" "$third"; do echo "$j=$(cpus "$j")"; done | paste -sd' ')"
kept=''
if [ -z "$outside" ] && grep -q 'it stays inside its job.s CPUs' "$tmp/colocd.out"; then
  kept=1
else
  ok "a step is placed outside its own allocation" test -n "$outside"
fi
[ -n "$outside" ] || outside=${pair[0]}
diag "$outside has $(allocated "$outside"), runs on $(cpus "$outside")"
like "$(cpus "$outside")" '^[0-9]' "it has CPUs"
[ -n "$kept" ] || is "$(wall "$outside")" "0-$(($(nproc) - 1))" "its cpuset is as wide as the node"
# A child that only waits keeps Slurm's mask; this one has run. It lives for two seconds: long enough
# to be looked at on a busy machine.
child() { pgrep -P "$(pid "$outside")" | head -1; }
childs_mask() { [ "$(mask "$(child)")" = "$(cpus "$outside")" ]; }
ok "its children's too" wait_for 10 childs_mask
childs_mask || diag "$(cpus "$outside"), its child $(mask "$(child)"), of: $(pgrep -lP "$(pid "$outside")" | paste -sd,)"
like "$(scontrol listpids "$(cat "$tmp/id.$outside")" "$node" 2>&1)" "^$(pid "$outside") " "Slurm still knows its process"

# --- a crash, in between: the next colocd takes it over
steps=$(known | wc -l)
stop "$colocd_pid" KILL
before=$(cpus "$outside")
start_colocd "$tmp/coloc.yaml" "$socket"
# What cannot be moved out is known, but not placed.
three() { if [ -n "$kept" ]; then [ "$(known | wc -l)" = "$steps" ]; else two 3; fi; }
adopted() { three && [ "$(cpus "$outside")" = "$before" ]; }
ok "killed, a new one adopts it where it is" wait_for 10 adopted

# --- the job's next step
touch "$tmp/next"
next_ended() { grep -q '^next' "$tmp/out.$outside"; }
ok "the job's next srun runs" wait_for 30 next_ended
is "$(grep '^next' "$tmp/out.$outside")" "next 3" "and ends as it should"
# srun's word on the exit code may come first.
like "$(cat "$tmp/next.$outside")" '^[0-9,-]+$' "on CPUs"
is "$(grep -vE 'Exited with exit code 3|^[0-9,-]+$' "$tmp/next.$outside")" "" "with no other error"
scancel -s USR1 "$(cat "$tmp/id.$outside").0"
first_ended() { grep -q '^first' "$tmp/out.$outside"; }
ok "a signal reaches the step" wait_for 20 first_ended
is "$(grep '^first' "$tmp/out.$outside")" "first 4" "which ends as it should"
gone() { [ "$(known | grep -c placed)" -le 2 ] && ! own_dirs | grep -q "job_$(cat "$tmp/id.$outside")+"; }
ok "nothing of it is left" wait_for 20 gone

# --- release puts everybody back
ctl release >/dev/null
for j in "${pair[@]}" "$third"; do
  [ "$j" != "$outside" ] || continue
  is "$(wall "$j") $(cpus "$j")" "$(allocated "$j") $(allocated "$j")" "release: $j has what Slurm gave"
done
is "$(own_dirs)" "" "no directory of ours is left"
is "$(rows)" 0 "the ledger is empty"
stop_steps
is "$(node_state)" idle "the node is idle, not drained"
complaints() { slurmd_log | grep -cE 'unable to write|could not execve'; }
is "$(complaints)" 0 "slurmd had nothing to complain about"

# --- select/linear: a job has the whole node, so its own allocation is all there is
start_cluster --plugin-args "socket=$socket timeout_ms=$spine_timeout_ms"
find_layout
whole=0-$(($(nproc) - 1))
spawn e --coloc=on
is "$(cpuset_of e)" "$whole" "select/linear: a step alone is on its whole allocation"
spawn f --coloc=on
of_each() { [ "$(cpuset_of e)" != "$whole" ] && [ "$(cpuset_of f)" != "$whole" ] && [ "$(cpuset_of e)" != "$(cpuset_of f)" ]; }
ok "two have cores of their own" wait_for 10 of_each
is "$(mask_of e) $(mask_of f)" "$(cpuset_of e) $(cpuset_of f)" "with their threads"
is "$(own_dirs)" "" "nothing has to be outside: no directory of ours"
before=$(cpuset_of e)
run srun --overlap --jobid="$(job_id e)" -n1 bash -c 'exit 3'
is "$rc" 3 "a further step of the job runs"
ok "and leaves the first where it is" wait_for 10 cpuset_is e "$before"
ctl release >/dev/null
is "$(wall_of e) $(wall_of f) $(mask_of e) $(mask_of f)" "$whole $whole $whole $whole" "release: all as Slurm set it"
is "$(rows)" 0 "the ledger is empty again"
stop_steps
is "$(node_state) $(complaints)" "idle 0" "the node is idle, slurmd has nothing to complain about"
[ -z "$kept" ] || [ "$tests_failed" != 0 ] ||
  skip_all "LEVELS: each task has a cpuset of its own here, none leaves its job; $tests_run other checks passed"
done_testing
