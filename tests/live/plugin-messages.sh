#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the plugin sends, in which order, and what it does with the answers: live_msgdump stands
# where the service would.
. "$(dirname "$0")/lib.sh"
need ROOT SLURM PLUGIN MSGDUMP

socket=$tmp/colocd.sock
dump=$tmp/dump
touch "$tmp/env"
start_cluster --contain --plugin-args "default=off socket=$socket timeout_ms=2000"
start_msgdump "$socket" --env-file "$tmp/env"
server=$pid

# Messages of the last step(s), spaces for tabs, once as many connections as wanted are closed.
closed_are() { [ "$(grep -c 'closed$' "$dump")" -ge "$1" ]; }
messages() { # CONNECTIONS
  wait_for 10 closed_are "$1" || diag "only $(grep -c 'closed$' "$dump") connections closed"
  dumped=$(tr '\t' ' ' <"$dump")
  : >"$dump"
}
types() { grep -o ' type=[a-z]*_[a-z]*' <<<"$dumped" | cut -d= -f2 | tr '\n' ' '; }
starts() { grep type=step_start <<<"$dumped"; }
# Slurm itself sets OMPI_MCA_plm_slurm_args (seen with 24.11 and 26.05).
launch_of() {
  tr ' ' '\n' <<<"$1" | grep -E '^(OMP|GOMP|KMP|OMPI|COLOC_LAUNCH_ENV)' |
    grep -v '^OMPI_MCA_plm_slurm_args=' | sort | tr '\n' ' '
}

# --- what is sent

run srun --coloc-policy=lira,tie=missbal,dry_run=yes --coloc-priority=high --coloc-type=my.app-1 \
  --coloc-qos=0.85 --coloc-min-cores=1 --coloc-omp --coloc-exclude --coloc-verbose=1 \
  -J spank_test -n2 bash -c 'ls -l /proc/self/fd'
is "$rc" 0 "all options: the step runs"
unlike "$out" socket: "all options: the task inherits no socket"
like "$err" '^coloc: step [0-9]+\.0: policy lira,tie=missbal, cores 0 \(a test says so\)$' \
  "--coloc-verbose=1 shows policy, cores and reason"
is "$(grep -c '^coloc:' <<<"$err")" 1 "two tasks: said once"
messages 1
is "$(types)" "step_start task_start task_start task_exit task_exit step_end " \
  "one step_start, a task_start and a task_exit for each task, one step_end, in this order"
is "$(cut -d' ' -f1 <<<"$dumped" | sort -u)" 1 "all over one connection"
unlike "$dumped" 'peer=[1-9]' "all from root"
for field in 'job=[0-9]+' step=0 uid=0 nnodes=1 nodeid=0 ntasks=2 cpus_per_task=1 name=bash \
  "job_cores=0-$(($(nproc) - 1))" 'step_cores=[0-9,-]+' timeout_ms=2000 'pid=[0-9]+' \
  policy=lira,tie=missbal priority=high tag=my.app-1 qos=0.85 min_cores=1 omp=1 exclude=1 \
  verbose=1 dry_run=1 partition=main jobname=spank_test; do
  like "$(starts)" " $field( |$)" "step_start has $field"
done
unlike "$(starts)" ' (batch|array_job|array_task|bind_type|bind_unasked|set)=' \
  "step_start has nothing that does not apply"
like "$dumped" 'type=task_start job=[0-9]+ step=0 nodeid=0 task=0 pid=[0-9]+$' "task_start of task 0"
like "$dumped" 'type=task_start job=[0-9]+ step=0 nodeid=0 task=1 pid=[0-9]+$' "task_start of task 1"
like "$dumped" 'type=task_exit job=[0-9]+ step=0 nodeid=0 task=1 pid=[0-9]+ status=0$' "task_exit of task 1"

like "$(starts)" ' path=[^ ]*/' "a name without a slash: with the step's PATH"
unlike "$(starts)" ' cwd=' "and that alone"
mkdir "$tmp/there"
cp "$(command -v true)" "$tmp/there/app"
(cd "$tmp/there" && srun --coloc=on ./app -d -chunk)
messages 1
like "$(starts)" " cwd=$tmp/there$" "a name like ./app: with srun's working directory"
for elsewhere in "-D $tmp/there" "-n1 -D$tmp/there" "--chdir=$tmp/there" "--chd $tmp/there"; do
  # shellcheck disable=SC2086
  (cd / && srun --coloc=on $elsewhere ./app)
  messages 1
  unlike "$(starts)" ' (cwd|path)=' "srun ${elsewhere%%/*}...: it runs elsewhere, and nothing is said"
done
(cd / && SLURM_WORKING_DIR="$tmp/there" srun --coloc=on ./app)
messages 1
unlike "$(starts)" ' (cwd|path)=' "SLURM_WORKING_DIR: the same"
srun --coloc=on "$tmp/there/app"
messages 1
unlike "$(starts)" ' (cwd|path)=' "an absolute name says it all"

run srun --coloc=on bash -c 'exit 3'
messages 1
like "$dumped" 'type=task_exit .* status=768$' "task_exit has the wait status"
unlike "$(starts)" ' (policy|dry_run)=' "--coloc=on alone: no policy named"

run srun true
run srun --coloc=off --coloc-policy=lira true
run env COLOC=off COLOC_POLICY=lira srun true
run env COLOC_POLICY=lira srun --coloc=off true
run srun --coloc=on true
messages 1
is "$(grep -c step_start <<<"$dumped")" 1 "no option, --coloc=off, COLOC=off: nothing is sent"
like "$(starts)" 'job=14 ' "only the one with --coloc=on spoke"
run srun --coloc true
is "$rc" 0 "--coloc without a value: what follows is the program"
messages 1
like "$(starts)" 'job=15 ' "and it asks"
run env COLOC=off srun --coloc-policy=fair true
messages 1
like "$(starts)" 'policy=fair' "an option on the command line wins over COLOC=off"

run env COLOC_POLICY=fair COLOC_PRIORITY=low COLOC_TYPE=env COLOC_QOS=.5 COLOC_MIN_CORES=2 \
  COLOC_OMP=yes COLOC_EXCLUDE=1 COLOC_VERBOSE=0 srun --coloc-type=line true
messages 1
like "$(starts)" 'policy=fair priority=low tag=line qos=.5 min_cores=2 omp=1 exclude=1 verbose=0 ' \
  "the environment's values, the command line first"
run env COLOC_OMP=0 srun true
run env COLOC=1 srun true
messages 1
is "$(grep -c step_start <<<"$dumped")" 1 "COLOC=1 asks, COLOC_OMP=0 does not"

# --- batch, interactive, arrays, inner sruns

sbatch_wait --coloc-policy=lira,dry_run=yes --coloc-omp -n2 --wrap \
  'srun true; srun --coloc-policy=fair true; srun --coloc=off true'
messages 3
is "$rc" 0 "sbatch: runs"
like "$(starts)" 'step=4294967291 .* nnodes=1 .* batch=1 policy=lira omp=1 dry_run=1' \
  "sbatch: the batch step says batch=1"
like "$(starts)" 'step=0 .* policy=lira omp=1 dry_run=1' "sbatch: the inner srun inherits"
like "$(starts)" 'step=1 .* policy=fair omp=1 partition' \
  "sbatch: an inner srun's own policy wins, without the outer's dry_run"
unlike "$(starts)" 'step=2 ' "sbatch: an inner srun's --coloc=off wins"
run env COLOC_POLICY=fair sbatch --parsable -o /dev/null --wrap 'srun true'
messages 2
like "$(starts)" 'step=4294967291 .* policy=fair' "COLOC_POLICY reaches the batch step"
like "$(starts)" 'step=0 .* policy=fair' "COLOC_POLICY reaches its inner srun"
run salloc --coloc-policy=lira srun true
messages 1
like "$(starts)" 'step=0 .* policy=lira' "salloc: the srun inherits"
sbatch_wait --coloc --wrap 'srun true; srun --coloc=off true'
messages 2
is "$rc" 0 "sbatch --coloc: runs"
like "$(starts)" 'batch=1' "sbatch --coloc: asks"
like "$(starts)" 'step=0 ' "sbatch --coloc: the inner srun inherits"
unlike "$(starts)" 'step=1 ' "sbatch --coloc: an inner srun's --coloc=off wins"
run salloc --coloc srun true
is "$rc" 0 "salloc --coloc: the srun runs"
messages 1
like "$(starts)" 'step=0 ' "salloc --coloc: the srun inherits"
run salloc --coloc-omp srun true
is "$rc" 0 "salloc --coloc-omp: the srun runs"
messages 1
like "$(starts)" 'step=0 .* omp=1 ' "salloc --coloc-omp: the srun inherits"
run sbatch --array=3 --coloc=on -o /dev/null --wrap true
messages 1
like "$(starts)" 'batch=1 array_job=[0-9]+ array_task=3 ' "an array's task says so"
run srun --coloc-policy=lira --coloc-omp bash -c 'srun --overlap true'
messages 2
like "$(starts)" 'step=1 .* policy=lira omp=1' "an srun inside a step inherits"

# --- whose binding is it

run srun --coloc=on bash -c 'srun --overlap true; srun --overlap srun --overlap true'
messages 4
like "$(starts)" 'step=1 .* bind_type=mask_cpu: bind_unasked=1' "srun in srun: binding inherited"
like "$(starts)" 'step=3 .* bind_type=mask_cpu: bind_unasked=1' "one deeper: inherited as well"
run srun --coloc=on bash -c 'srun --overlap --cpu-bind=map_cpu:0 true
  export SLURM_CPU_BIND=cores; srun --overlap true'
messages 3
like "$(starts)" 'step=1 .* bind_type=map_cpu:( set| path|$)' "srun in srun, --cpu-bind: the user's"
like "$(starts)" 'step=2 .* bind_type=cores( set| path|$)' "srun in srun, exported by hand: the user's"
run srun --coloc=on --cpu-bind=cores true
run srun --coloc=on --cpu-bind=none true
messages 2
like "$(starts)" 'bind_type=cores' "--cpu-bind=cores is reported"
like "$(starts)" 'bind_type=none' "--cpu-bind=none is reported"

# Slurm binds by these as well; the program's own words are not srun's.
for option in --hint=nomultithread --hint=compute_bound --threads-per-core=1 --ntasks-per-core=1 \
  --ntasks-per-socket=1 '-B 1:1:1'; do
  # shellcheck disable=SC2086 # words
  run srun --coloc=on $option true --cpu-bind=cores
  messages 1
  like "$(starts)" ' bind_type=[a-z]+ bind_unasked=1' "$option is no binding of the user's"
  # shellcheck disable=SC2086
  run srun --coloc=on $option --cpu-bind=cores true
  messages 1
  like "$(starts)" ' bind_type=cores( set| path|$)' "$option --cpu-bind=cores is one"
done
for option in --hint=nomultithread --threads-per-core=1; do
  sbatch_wait --coloc=on $option --wrap 'srun true; srun --cpu-bind=threads true'
  messages 3
  like "$(starts)" 'step=0 .* bind_type=threads bind_unasked=1' "sbatch $option: srun's is not the user's"
  like "$(starts)" 'step=1 .* bind_type=threads( set| path|$)' "... and srun --cpu-bind=threads his"
done
run env SLURM_CPU_BIND=cores srun --coloc=on --cpu-bind=none --ntasks-per-core=1 true
run env SLURM_CPU_BIND=cores srun --coloc=on --ntasks-per-core=1 true
messages 2
is "$(starts | grep -c bind_unasked=1)" 1 "SLURM_CPU_BIND is the user's word, and --cpu-bind=none wins over it"

# --- the launch environment

printf '%s\n' OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=1000 >"$tmp/env"
run srun --coloc=on env
messages 1
is "$(launch_of "$out")" \
  "COLOC_LAUNCH_ENV=OMP_WAIT_POLICY,GOMP_SPINCOUNT GOMP_SPINCOUNT=1000 OMP_WAIT_POLICY=passive " \
  "the answer's variables are there at exec, and named"
unlike "$out" 'COLOC_(BIND_ASKED|SRUN_CWD)' "nothing else is left in the environment"
run srun --coloc=on bash -c 'ulimit -e'
messages 1
is "$out" "$(ulimit -e)" "the limit of nice values is as without, if the answer does not ask for more"
run env OMP_WAIT_POLICY=active KMP_BLOCKTIME=1 srun --coloc=on env
messages 1
is "$(launch_of "$out")" \
  "COLOC_LAUNCH_ENV=GOMP_SPINCOUNT GOMP_SPINCOUNT=1000 KMP_BLOCKTIME=1 OMP_WAIT_POLICY=active " \
  "the user's own value stays"
like "$(starts)" ' set=OMP_WAIT_POLICY set=KMP_BLOCKTIME( path=|$)' "and was reported as his"
run srun env
is "$(launch_of "$out")" "" "without --coloc: nothing is set"

cat >"$tmp/outer" <<OUTER
printf '%s\n' GOMP_SPINCOUNT=7 >$tmp/env
srun --overlap env >$tmp/inner1
GOMP_SPINCOUNT=9 srun --overlap env >$tmp/inner2
srun --overlap --coloc=off env >$tmp/inner3
OUTER
run srun --coloc=on bash "$tmp/outer"
messages 3
is "$(launch_of "$(cat "$tmp/inner1")")" "COLOC_LAUNCH_ENV=GOMP_SPINCOUNT GOMP_SPINCOUNT=7 " \
  "inner srun: ours is replaced, what is not wanted any more is gone"
is "$(launch_of "$(cat "$tmp/inner2")")" "GOMP_SPINCOUNT=9 " \
  "inner srun: what the user changed is his"
is "$(launch_of "$(cat "$tmp/inner3")")" "" "inner srun with --coloc=off: ours is taken out"
unlike "$(grep step=1 <<<"$(starts)")" set= "inner srun: ours is not reported as the user's"
like "$(grep step=2 <<<"$(starts)")" set=GOMP_SPINCOUNT "inner srun: the changed one is"

# --- answers and losses

stop "$server"
start_msgdump "$socket" --env-file "$tmp/env" --refuse "partition 'main' is not allowed"
run srun --coloc=on --coloc-verbose=1 env
is "$rc" 0 "refused: the step runs"
like "$err" "^coloc: step .*: refused: partition 'main' is not allowed, ignoring" "refused: said why"
is "$(launch_of "$out")" "" "refused: nothing is set"
messages 1
is "$(types)" "step_start " "refused: no more is sent"
stop "$pid"

start_msgdump "$socket" --once
run srun --coloc=on -n2 true
is "$rc" 0 "connection lost after each answer: the step runs"
messages 1
is "$(types)" "step_start task_start task_start task_exit task_exit step_end " \
  "connection lost after each answer: everything arrives"
stop "$pid"

start_msgdump "$socket" --mute task_start
run srun --coloc=on --coloc-verbose=1 -n2 true
is "$rc" 0 "no answer to task_start: the step runs"
at_most "$ms" 6000 "no answer to task_start: within the deadline of 2000 ms and slack, in ms"
messages 2
is "$(types)" "step_start task_start task_exit task_exit step_end " \
  "no answer to task_start: asks no more, but the ends are told"
stop "$pid"

mkfifo "$tmp/go"
start_msgdump "$socket"
srun --coloc=on bash -c "cat $tmp/go" &
step=$!
wait_for 10 grep -q task_start "$dump"
stop "$pid" KILL
start_msgdump "$socket"
: >"$dump"
echo >"$tmp/go"
wait "$step"
is "$?" 0 "service restarted in mid-step: the step runs"
messages 1
is "$(types)" "task_exit step_end " "service restarted in mid-step: the ends reach the new one"

# --- other lines in plugstack.conf

"$minislurm" down "$cluster" --quiet
start_cluster --plugin-args "default=on minimum_uid=1 socket=$socket"
run srun true
is "$(cat "$dump")" "" "minimum_uid=1: root is left alone"
if id nobody >/dev/null 2>&1 && command -v setpriv >/dev/null; then
  chmod 755 "$tmp" "$cluster" "$cluster/etc" "$cluster/run"
  cd / || exit 1
  run setpriv --reuid=nobody --clear-groups srun true
  is "$rc" 0 "a user's step runs"
  messages 1
  like "$(starts)" " uid=$(id -u nobody) " "default=on: a step that says nothing is told of"
  unlike "$dumped" 'peer=[1-9]' "a user's step: all from root"
fi
ok "the node is idle" wait_for 10 node_is_idle

# --- several nodes; on this machine they share one kernel, and so one service

"$minislurm" down "$cluster" --quiet
: >"$dump"
start_cluster --nodes 2 --plugin-args "socket=$socket timeout_ms=2000"
run srun -N2 --coloc-policy=lira --coloc-verbose=1 true
is "$rc" 0 "two nodes: the step runs"
is "$(grep -c '^coloc: step' <<<"$err")" 1 "two nodes: the user is told once"
messages 2
for i in 0 1; do
  like "$(starts)" " nnodes=2 nodeid=$i ntasks=1 " "two nodes: node $i says which it is"
done
is "$(grep -c type=step_end <<<"$dumped")" 2 "two nodes: both say the end"
ok "both nodes are idle" wait_for 10 node_is_idle
done_testing
