#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# churn.sh - 200 job steps started and ended beside each other: every one is accounted, none is
# failed by us.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
# A step whose registration takes longer is not known to the end: what it came to is then unknown.
spine_timeout_ms=5000
start_spine 'policy: fair'

jobs=8 steps=25
for j in $(seq $jobs); do
  cat >"$tmp/churn.$j.sh" <<X
#!/bin/bash
for s in \$(seq $steps); do
  srun --coloc=on bash -c 'echo ok; sleep 0.0\$((RANDOM % 10))' || echo "failed: \$?"
done
X
  sbatch -J "churn$j" -o "$tmp/churn.$j.out" "$tmp/churn.$j.sh" >/dev/null
done
ok "all jobs end" wait_for 240 no_jobs
is "$(cat "$tmp"/churn.*.out | grep -c '^ok$')" $((jobs * steps)) "every step ran"
is "$(cat "$tmp"/churn.*.out | grep -c failed)" 0 "none failed"
all_ended() { [ "$(ctl --json jobs | grep -c '"id"')" = 0 ]; }
ok "the daemon saw them all end" wait_for 20 all_ended
rows=$(acct -P -n -o JobID,State | grep -E '^[0-9]+\.[0-9]+\|')
is "$(wc -l <<<"$rows")" $((jobs * steps)) "every step is accounted, once"
is "$(grep -v COMPLETED <<<"$rows")" "" "each as completed"
is "$(node_state)" idle "the node is idle, not drained"
is "$(ctl --json status | tr -d ' \n' | sed 's/.*"ledger_rows":\([0-9]*\).*/\1/')" 0 "the ledger is empty"
done_testing
