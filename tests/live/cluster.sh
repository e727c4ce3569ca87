#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# minislurm: clusters side by side, taken down under load, interrupted, and nothing left.
. "$(dirname "$0")/lib.sh"
need ROOT SLURM

a=$tmp/a b=$tmp/b
cluster_dirs=("$a" "$b" "$tmp/c" "$tmp/d")
node_of() { cat "$1/run/node"; }
# Processes whose command line has the cluster's directory; zombies have none.
processes_of() { pgrep -f -- "$1/"; }
cgroups_of() { find /sys/fs/cgroup -maxdepth 3 -name "*$1*" 2>/dev/null; }
nothing_left() { # DIR NODE
  [ -z "$(processes_of "$1")" ] && [ -z "$(cgroups_of "$2")" ]
}

"$minislurm" up "$a" --quiet >"$tmp/a.env" 2>&1 &
first=$!
"$minislurm" up "$b" --quiet --select cons_tres --conf KillWait=5 >"$tmp/b.env" 2>&1
is "$?" 0 "second cluster comes up beside the first"
wait "$first"
is "$?" 0 "first cluster comes up"
is "$(cat "$tmp/a.env")" "export SLURM_CONF=$a/etc/slurm.conf" "up prints the line to eval"
is "$("$minislurm" env "$a")" "export SLURM_CONF=$a/etc/slurm.conf" "env prints it again"
node_a=$(node_of "$a") node_b=$(node_of "$b")
ok "their nodes have different names" test "$node_a" != "$node_b"
for d in "$a" "$b"; do
  # shellcheck disable=SC2016 # the task's
  run env SLURM_CONF="$d/etc/slurm.conf" srun -n2 sh -c 'echo $SLURMD_NODENAME'
  is "$out" "$(node_of "$d")"$'\n'"$(node_of "$d")" "srun runs on ${d##*/}'s own node"
done
is "$(grep -c ^KillWait= "$b/etc/slurm.conf") $(grep ^KillWait= "$b/etc/slurm.conf")" "1 KillWait=5" \
  "--conf replaces the line of that key"
run "$minislurm" up "$a"
is "$rc" 1 "a second up is refused"
like "$err" 'is up already' "and says why"
ok "status: up" "$minislurm" status "$a"

export SLURM_CONF=$a/etc/slurm.conf
ids=()
for _ in 1 2 3 4; do
  ids+=("$(sbatch --parsable -o /dev/null --wrap 'trap "" TERM; srun sleep 1000')")
done
all_run() {
  local id
  for id in "${ids[@]}"; do job_is "$id" RUNNING || return 1; done
}
ok "four jobs share the node" wait_for 20 all_run
run "$minislurm" down "$a"
is "$rc" 0 "down with running jobs"
ok "nothing of it is left" wait_for 5 nothing_left "$a" "$node_a"
run "$minislurm" down "$a"
is "$rc" 0 "down twice"
ok "status: down" bash -c "! '$minislurm' status '$a'"
SLURM_CONF=$b/etc/slurm.conf run srun true
is "$rc" 0 "the other one has not noticed"
"$minislurm" down "$b" --quiet
ok "nothing of the other is left" wait_for 5 nothing_left "$b" "$node_b"

run "$minislurm" run "$tmp/c" --quiet -- bash -c 'srun sh -c "exit 7"'
is "$rc" 7 "run: the command's exit status"
ok "run: nothing is left" wait_for 5 nothing_left "$tmp/c" "$(node_of "$tmp/c")"

# A terminal's ^C goes to the whole process group.
setsid "$minislurm" run "$tmp/d" --quiet -- bash -c "touch $tmp/started; srun sleep 1000" \
  >"$tmp/d.out" 2>&1 &
wait_for 20 test -e "$tmp/started"
group=$(pgrep -f -- "$minislurm run $tmp/d" | head -1)
interrupt() {
  kill -INT -- "-$group" 2>/dev/null
  nothing_left "$tmp/d" "$(node_of "$tmp/d")"
}
ok "run: interrupted, nothing is left" wait_for 20 interrupt
wait

run "$minislurm" frobnicate "$a"
is "$rc" 2 "unknown command: exit 2"
run "$minislurm" up "$a" --frobnicate
is "$rc" 1 "unknown option: refused"
run "$minislurm" up "$a" --plugin "$tmp/none.so"
is "$rc" 1 "plugin that is not there: refused"
like "$err" 'none.so: cannot be read' "and named"
done_testing
