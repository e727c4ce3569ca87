#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The plugin without a service: options, refusals, and steps that run whatever the socket does.
. "$(dirname "$0")/lib.sh"
need ROOT SLURM PLUGIN MSGDUMP

timeout_ms=250
# The step's own deadline is timeout_ms; the rest is a loaded machine's.
slack_ms=$((5 * timeout_ms))
socket=$tmp/colocd.sock
start_cluster --plugin-args "default=off socket=$socket timeout_ms=$timeout_ms"

# --- options are there and checked where the user sees it

for tool in srun sbatch salloc; do
  run "$tool" --help
  help=$(tr -s ' \n' ' ' <<<"$out")
  for option in '--coloc=on\|off' '--coloc-policy=NAME\[,KEY=VALUE\.\.\.\]' \
    '--coloc-priority=high\|low' --coloc-type=TAG --coloc-qos=FRACTION --coloc-min-cores=N \
    --coloc-omp --coloc-exclude --coloc-verbose=N; do
    like "$help" " $option \[coloc\]" "$tool --help shows ${option//\\/}"
  done
done
for word in list help; do
  run srun --coloc-policy=$word false
  is "$rc" 0 "--coloc-policy=$word answers and runs nothing"
  like "$out" '^ *lira$' "--coloc-policy=$word names lira"
done

refused() { # NAME REGEX COMMAND...
  local name=$1 regex=$2
  shift 2
  run "$@"
  is "$rc" 255 "$name: exit 255"
  like "$err" "$regex" "$name: says why"
}
known='known: none, .*lira'
refused "srun, unknown policy" "coloc: unknown policy 'bogus' \($known" srun --coloc-policy=bogus true
refused "sbatch, unknown policy" "unknown policy 'bogus' \($known" sbatch --coloc-policy=bogus --wrap true
refused "salloc, unknown policy" "unknown policy 'bogus' \($known" salloc --coloc-policy=bogus true
printf '#!/bin/sh\n#SBATCH --coloc-policy=bogus\n' >"$tmp/job.sh"
refused "#SBATCH, unknown policy" "unknown policy 'bogus'" sbatch "$tmp/job.sh"
refused "no policy" "unknown policy ''" srun --coloc-policy= true
refused "policy option without value" "'tie' is not key=value" srun --coloc-policy=lira,tie true
refused "dry_run=maybe" "'dry_run=maybe' is neither" srun --coloc-policy=lira,dry_run=maybe true
refused "--coloc=maybe" "'maybe' is neither on nor off" srun --coloc=maybe true
refused "--coloc-priority=middle" "'middle' is neither high nor low" srun --coloc-priority=middle true
refused "--coloc-type=a/b" "type 'a/b'" srun --coloc-type=a/b true
for bad in 0 1.5 -1 nan x 0x1; do
  refused "--coloc-qos=$bad" "qos '$bad'" srun --coloc-qos=$bad true
done
for bad in 0 -1 2.5 x 99999999999999999999; do
  refused "--coloc-min-cores=$bad" "min-cores '$bad'" srun --coloc-min-cores=$bad true
done
refused "--coloc-verbose=9" "verbose '9'" srun --coloc-verbose=9 true

# --- the environment's values

for pair in COLOC=maybe COLOC_POLICY=bogus COLOC_PRIORITY=middle COLOC_TYPE=a/b COLOC_QOS=2 \
  COLOC_MIN_CORES=none COLOC_OMP=maybe COLOC_EXCLUDE=maybe COLOC_VERBOSE=loud; do
  refused "$pair" "environment ${pair%%=*}=${pair#*=}: .*'${pair#*=}'" env "$pair" srun true
done
refused "sbatch, COLOC_POLICY=bogus" "COLOC_POLICY=bogus" env COLOC_POLICY=bogus sbatch --wrap true
refused "salloc, COLOC_POLICY=bogus" "COLOC_POLICY=bogus" env COLOC_POLICY=bogus salloc true
run env COLOC_QOS=2 srun --coloc-qos=0.5 true
is "$rc" 0 "a bad value that the command line overrides does not matter"

# --- nobody there, nobody answering

run srun true
is "$rc" 0 "without --coloc: runs"
plain=$ms
run srun --coloc-policy=lira --coloc-verbose=1 true
is "$rc" 0 "no socket: the step runs"
like "$err" '^coloc: step [0-9]+\.0: .*colocd.sock: No such file or directory, ignoring$' \
  "no socket: --coloc-verbose=1 says so"
is "$(grep -c '^coloc:' <<<"$err")" 1 "no socket: said once"
run srun --coloc-policy=lira true
is "$rc" 0 "no socket, not verbose: the step runs"
unlike "$err" coloc "no socket, not verbose: nothing of ours on stderr"
run srun --coloc-policy=lira bash -c 'exit 3'
is "$rc" 3 "no socket: the program's own exit status"

start_msgdump "$socket" --stop
stopped=$pid
for i in 1 2 3; do
  run srun --coloc-policy=lira --coloc-verbose=1 true
  is "$rc" 0 "service stopped ($i): the step runs"
  like "$err" 'step [0-9]+\.0: .*(timed out|no answer in time).*, ignoring' \
    "service stopped ($i): the user is told"
  at_most $((ms - plain)) "$slack_ms" "service stopped ($i): delay in ms, timeout_ms=$timeout_ms"
done
run srun -n8 --oversubscribe --overcommit --coloc-policy=lira true
is "$rc" 0 "service stopped, 8 tasks: the step runs"
at_most $((ms - plain)) "$slack_ms" "service stopped, 8 tasks: one deadline for all, delay in ms"
# The backlog of 8 is full after some more.
steps=()
for _ in 1 2 3 4 5 6 7 8; do
  srun --coloc-policy=lira true &
  steps+=($!)
done
wait "${steps[@]}"
run srun --coloc-policy=lira true
is "$rc" 0 "backlog full: the step runs"
at_most $((ms - plain)) "$slack_ms" "backlog full: delay in ms"
stop "$stopped" KILL
run srun --coloc-policy=lira --coloc-verbose=1 true
is "$rc" 0 "service killed, socket left behind: the step runs"
like "$err" 'Connection refused, ignoring' "service killed: the user is told"
at_most $((ms - plain)) "$slack_ms" "service killed: delay in ms"
sbatch_wait --coloc-policy=lira --wrap 'srun echo inner'
is "$out" inner "service killed: a batch job and its step run"
ok "the node is idle, not drained" wait_for 10 node_is_idle

# --- a wrong line in plugstack.conf

for arg in colour=blue timeout_ms=0 timeout_ms=soon default=maybe socket=relative minimum_uid=-1; do
  echo "optional $plugin $arg" >"$tmp/plugstack.conf"
  sed "s|^PlugStackConfig=.*|PlugStackConfig=$tmp/plugstack.conf|" "$SLURM_CONF" >"$tmp/slurm.conf"
  cp "$cluster/etc/cgroup.conf" "$tmp/"
  for tool in "srun true" "sbatch --wrap true" "salloc true"; do
    # shellcheck disable=SC2086
    run env SLURM_CONF="$tmp/slurm.conf" $tool
    is "$rc" 1 "plugstack $arg: ${tool%% *} exits 1"
    like "$err" "coloc: plugstack: .*${arg%%=*}" "plugstack $arg: ${tool%% *} names the key"
  done
done
ok "still idle" wait_for 10 node_is_idle
"$minislurm" down "$cluster" --quiet

# The same in slurmd and slurmstepd only; srun reads a line that is right.
start_cluster --plugin-args "colour=blue timeout_ms=soon socket=$socket"
echo "optional $plugin socket=$socket" >"$tmp/plugstack.conf"
sed "s|^PlugStackConfig=.*|PlugStackConfig=$tmp/plugstack.conf|" "$SLURM_CONF" >"$tmp/slurm.conf"
cp "$cluster/etc/cgroup.conf" "$tmp/"
run env SLURM_CONF="$tmp/slurm.conf" srun --coloc-policy=lira true
is "$rc" 0 "wrong line on the node only: the step runs"
is "$err" "" "wrong line on the node only: the user hears nothing"
like "$(slurmd_log)" "\[[0-9]+\.0\] coloc: plugstack: unknown key 'colour'.*, ignoring" \
  "wrong line on the node: logged by slurmstepd"
is "$(slurmd_log | grep -c "error: coloc: plugstack: unknown key 'colour'")" 1 \
  "wrong line on the node: one error, by slurmd"
like "$(slurmd_log)" "'timeout_ms=soon'.*, ignoring" "wrong value on the node: logged"
ok "wrong line on the node: idle" wait_for 10 node_is_idle

done_testing
