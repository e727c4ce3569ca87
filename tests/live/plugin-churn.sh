#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Many steps starting and ending at once: none is failed by us, each is told of exactly once.
. "$(dirname "$0")/lib.sh"
need ROOT SLURM PLUGIN MSGDUMP

steps=200 at_once=8
socket=$tmp/colocd.sock
start_cluster --plugin-args "socket=$socket timeout_ms=5000"
start_msgdump "$socket"

cat >"$tmp/churn" <<'CHURN'
#!/bin/bash
# STEPS AT_ONCE FAILED-FILE
running=0
for ((i = 0; i < $1; i++)); do
  (srun --overlap -n1 --coloc=on true || echo "$i" >>"$3") &
  running=$((running + 1))
  [ $running -lt "$2" ] || { wait -n; running=$((running - 1)); }
done
wait
CHURN
run salloc -Q bash "$tmp/churn" "$steps" "$at_once" "$tmp/failed"
is "$(cat "$tmp/failed" 2>/dev/null)" "" "$steps steps, $at_once at once, in one allocation: none failed"
diag "$steps steps took $ms ms"
all_told() { [ "$(grep -c type=step_end "$tmp/dump")" -ge "$steps" ]; }
wait_for 10 all_told
for type in step_start task_start task_exit step_end; do
  is "$(grep -o "type=$type.*" "$tmp/dump" | grep -o ' *job=[0-9]*.step=[0-9]*' | sort -u | wc -l)" \
    "$steps" "$type of every step"
  is "$(grep -c "type=$type" "$tmp/dump")" "$steps" "$type once each"
done
is "$(grep -c 'ignoring' "$cluster/log/slurmd.log")" 0 "nothing was ignored"
ok "the node is idle" wait_for 10 node_is_idle
done_testing
