#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# stolen.sh - a step whose virtual CPUs the hypervisor pauses: Waits says so. The guest's two CPUs
# have one of this machine's between them, so each is paused for half of the time.
case ${COLOC_GUEST:-} in '' | nested)
  guest=$(dirname "$0")/guest self=$(realpath "$0")
  if [ -w /dev/kvm ] && grep -qE '^flags.*\b(vmx|svm)\b' /proc/cpuinfo; then
    # The last: most interrupts are the first's.
    cpu=$(taskset -cp $$ | sed 's/.*[^0-9]//')
    exec taskset -c "$cpu" "$guest" --cpus 2 --timeout 1740 "$self"
  fi
  # Emulated machines have no account of what was stolen, but guests within them do: that takes five
  # minutes where it has this machine's two cores, and more where it shares them.
  [ -n "${COLOC_GUEST:-}" ] || exec "$guest" --nested --cpus 2 --memory 4096 --timeout 1800 "$self"
  echo "1..0 # SKIP KVM: the emulated machine has none"
  exit 77
  ;;
esac
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
