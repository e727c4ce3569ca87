#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nodes.sh [STEPS] - several slurmd share this kernel and one colocd: a step that spans them has a
# part on each, jobs of different nodes are placed beside each other, and STEPS short steps (180;
# more with runtests --full) leave nothing behind: rows, descriptors, memory, cgroups.
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2034 # start_spine's
spine_nodes=3
. "$(dirname "$0")/spine.sh"
steps=${1:-${COLOC_NODES_STEPS:-180}}
start_spine 'policy: fair' 

# status of the daemon itself: descriptors, memory (KiB), cpu time (clock ticks).
fds() { find "/proc/$colocd_pid/fd" -mindepth 1 | wc -l; }
rss_kib() { sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$colocd_pid/status"; }
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$colocd_pid/stat"; }
ids() { ctl --json jobs | grep -oE '"id": *"[^"]*"' | sed 's/.*"\([^"]*\)"$/\1/' | sort; }
no_steps() { [ -z "$(ids)" ]; }
ledger_rows() { ctl --json status | tr -d ' \n' | sed 's/.*"ledger_rows":\([0-9]*\).*/\1/'; }

# --- one step on three nodes
srun -N3 -n3 -J wide --coloc=on sleep 60 >"$tmp/wide.out" 2>&1 &
started_pids+=("$!")
three() { [ "$(ids | wc -l)" = 3 ]; }
ok "a step on three nodes has three parts" wait_for 20 three
job=$(job_id wide)
is "$(ids | sed "s/^$job\.0\(@[0-2]\)\?$/part/" | uniq -c | awk '{ print $1, $2 }')" "3 part" \
  "each with a name of its own"
# Registrations are written at the tick.
rows_of() { acct -P -n -o JobID | grep -c "^$job\.0"; }
three_rows() { [ "$(rows_of)" = 3 ]; }
ok "each is accounted" wait_for 10 three_rows
three_placed() { [ "$(ctl --json jobs | tr -d ' \n' | grep -o '"tasks":1\b' | wc -l)" = 3 ]; }
ok "and runs" wait_for 10 three_placed
sleep 0.5 # five ticks
kill -9 "$colocd_pid"
wait "$colocd_pid" 2>/dev/null
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
ok "a daemon that is started anew adopts all three" wait_for 10 three
scancel "$job"
ok "they end" wait_for 20 no_steps
rows=$(acct -P -n -o JobID,State,NodeList | grep "^$job\.0|")
is "$(cut -d'|' -f3 <<<"$rows" | sort | paste -sd' ')" \
  "${node}n1 ${node}n2 ${node}n3" "each part is accounted, with its node"

# --- jobs of different nodes are one co-located set
for i in 1 2; do
  srun -w "${node}n$i" -J "set$i" --coloc=on bash -c "$has_run; exec sleep 60" >"$tmp/set$i.out" 2>&1 &
  started_pids+=("$!")
done
two() { [ "$(ids | wc -l)" = 2 ]; }
ok "two jobs of two nodes" wait_for 20 two
cpus_of() {
  local file
  file=$(find /sys/fs/cgroup -path "*/*${node}n$1[_/]*/step_0$step_below/$cpus_file" 2>/dev/null)
  [ -z "$file" ] || placed_in "${file%/*}"
}
apart() { [ -n "$(cpus_of 1)" ] && [ -n "$(cpus_of 2)" ] && [ "$(cpus_of 1)" != "$(cpus_of 2)" ]; }
ok "are placed apart from each other" wait_for 10 apart
scancel -u root
ok "and end" wait_for 20 no_steps

# --- churn
before_fds=$(fds) before_rss=$(rss_kib) before_ticks=$(cpu_ticks)
before_rows=$(acct -P -n -o JobID | grep -c '\.[0-9]')
lanes=6
for j in $(seq $lanes); do
  cat >"$tmp/nodes.$j.sh" <<X
#!/bin/bash
for s in \$(seq $((steps / lanes))); do
  srun --coloc=on bash -c 'echo ok; sleep 0.0\$((RANDOM % 5))' || echo "failed: \$?"
done
X
  sbatch -w "${node}n$((j % 3 + 1))" -J "nodes$j" -o "$tmp/nodes.$j.out" "$tmp/nodes.$j.sh" >/dev/null
done
ok "all jobs end" wait_for $((60 + steps)) no_jobs
want=$((steps / lanes * lanes))
is "$(cat "$tmp"/nodes.*.out | grep -c '^ok$')" "$want" "every step ran"
is "$(cat "$tmp"/nodes.*.out | grep -c failed)" 0 "none failed"
ok "the daemon saw them all end" wait_for 20 no_steps
rows_now() { [ "$(acct -P -n -o JobID,State | grep -cE '\.[0-9]+\|COMPLETED')" -ge "$want" ]; }
ok "each is accounted as completed" wait_for 10 rows_now
is "$(($(acct -P -n -o JobID | grep -c '\.[0-9]') - before_rows))" "$want" "once"
is "$(ledger_rows)" 0 "the ledger is empty"
at_most "$(($(fds) - before_fds))" 2 "no descriptors are left open"
at_most "$(($(rss_kib) - before_rss))" 4096 "memory did not grow, KiB"
is "$(job_dirs | wc -l)" 0 "no cgroup is left"
is "$(node_state)" idle "the nodes are idle, not drained"
awk -v t=$(($(cpu_ticks) - before_ticks)) -v hz="$(getconf CLK_TCK)" -v n="$want" \
  'BEGIN { printf "# colocd: %.2f ms of cpu time per step over %d steps (measured)\n", t * 1000 / hz / n, n }'
done_testing
