#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# daemon-away.sh - the daemon down, killed or stopped: steps run, at most timeout_ms later.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
start_spine 'policy: fair'

# Median of five, inside one allocation: what a step takes. (The deadline is our own: 5x slack.)
median_step() {
  local t=()
  for _ in 1 2 3 4 5; do
    run srun "$@" true
    [ "$rc" = 0 ] || diag "srun $*: status $rc: $err"
    t+=("$ms")
  done
  printf '%s\n' "${t[@]}" | sort -n | sed -n 3p
}
plain=$(median_step)
up=$(median_step --coloc-policy=fair)
diag "a step takes $plain ms without, $up ms with the daemon"
kill -STOP "$colocd_pid"
run srun --coloc-policy=fair true
is "$rc" 0 "daemon stopped with SIGSTOP: the step runs"
stopped=$(median_step --coloc-policy=fair)
at_most $((stopped - plain)) $((5 * spine_timeout_ms)) "and is delayed, in ms, by no more than the timeout allows"
kill -CONT "$colocd_pid"
all_ended() { [ "$(ctl --json jobs | grep -c '"id"')" = 0 ]; }
ok "woken up, the daemon learns that they ended" wait_for 60 all_ended
run srun --coloc-policy=fair --coloc-verbose=1 true
like "$err" 'policy fair, cores' "and serves again"
stop "$colocd_pid" KILL
run srun --coloc-policy=fair true
is "$rc" 0 "daemon killed: the step runs"
away=$(median_step --coloc-policy=fair)
at_most $((away - plain)) "$spine_timeout_ms" "with no wait"
run srun --coloc-policy=bogus true
is "$rc" 255 "a bad value is still refused"
is "$(node_state)" idle "the node is idle, not drained"
done_testing
