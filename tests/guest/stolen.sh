#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# stolen.sh - a step whose virtual CPUs the hypervisor pauses: Waits says so. The guest's two CPUs
# have one of this machine's between them, so each is paused for half of the time.
if [ -z "${COLOC_GUEST:-}" ]; then
  # Emulated machines have no account of what was stolen.
  { [ -w /dev/kvm ] && grep -qE '^flags.*\b(vmx|svm)\b' /proc/cpuinfo; } || {
    echo "1..0 # SKIP KVM: needs a machine whose guests run on its own processor"
    exit 77
  }
  cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[,-].*//')
  exec taskset -c "$cpu" "$(dirname "$0")/guest" --cpus 2 --timeout 280 "$(realpath "$0")"
fi
. "$(dirname "$0")/../live/lib.sh"
. "$(dirname "$0")/../live/spine.sh"
gcc -O1 -pthread -o "$tmp/pair" "$srcdir/tests/live/pair.c" 2>/dev/null || skip_all "GCC: gcc is not there"
chmod 755 "$tmp/pair"
# shellcheck disable=SC2034 # for start_spine
spine_timeout_ms=3000
start_spine 'policy: fair'
stolen() { awk '$1 == "cpu" { print $9 }' /proc/stat; }
waits() { ctl explain "$id" 2>/dev/null | sed -n 's/^Waits *//p'; }
largest() { grep -q "^$1 " <<<"$(waits)"; }

srun -J paused -c2 --coloc=on "$tmp/pair" >"$tmp/srun.paused" 2>&1 &
started_pids+=("$!")
id=$(new_job_id paused)
before=$(stolen)
wait_for 60 largest stolen
bad=$?
if [ "$(stolen)" = "$before" ]; then
  skipped "paused by the hypervisor" "this guest's kernel has no account of what is stolen"
else
  verdict $bad "paused by the hypervisor" "got:    $(waits)" "wanted: stolen first"
fi
stop_steps
stop "$colocd_pid"
done_testing
