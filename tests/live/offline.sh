#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# offline.sh - a way back ends though CPUs of the original are not there any more, and CPUs that go
# offline and come back are seen. The second takes a CPU from the whole machine for a second, and on
# cgroup v1 for good from every cpuset there is: only where no others are.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
start_spine 'policy: fair'
online=/sys/devices/system/cpu/online one=/sys/devices/system/cpu/cpu1/online

field() { ctl --json status | python3 -c "import json,sys; print(json.load(sys.stdin)['$1'])"; }
field_is() { [ "$(field "$1")" = "$2" ]; }
spawn_two() {
  srun -J a --coloc=on bash -c "$has_run; exec sleep 300" >"$tmp/a.out" 2>&1 &
  started_pids+=("$!")
  srun -J b --coloc=on bash -c "$has_run; exec sleep 300" >"$tmp/b.out" 2>&1 &
  started_pids+=("$!")
  wait_for 20 job_known a && wait_for 20 job_known b
}
apart() { [ "$(mask_of a)" != "$(mask_of b)" ]; }

# Slurm's CPUs named one that the machine does not have by now: the kernel refuses such a list.
ok "two steps" spawn_two
ok "are placed apart" wait_for 20 apart
slurms=$(wall_of a)
stop "$colocd_pid" KILL
python3 -c "
import sqlite3
c=sqlite3.connect('$tmp/store/ledger.db')
c.execute(\"UPDATE cpuset SET cpus = cpus || ',500'\")
c.execute(\"UPDATE thread SET mask = mask || ',500'\")
c.commit()"
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
ok "killed, the originals name a CPU that is not there: release" ctl release
is "$(cpuset_of a) $(cpuset_of b)" "$slurms $slurms" "both have what there is of it"
is "$(mask_of a) $(mask_of b)" "$slurms $slurms" "their threads too"
is "$(field ledger_rows)" 0 "the ledger is empty"
is "$(field owed)" 0 "nothing is owed"
stop_steps

# On v1, whose cpusets would lose it: anybody's but this test's.
others() {
  [ -d /sys/fs/cgroup/cpuset ] || return 0
  find /sys/fs/cgroup/cpuset -mindepth 1 -maxdepth 1 -type d ! -path "$cgroup" ! -name coloc
}
not_here() { verdict 0 "a CPU goes offline and comes back # SKIP $1"; }
put_back() { echo 1 >$one; }
if [ -z "${COLOC_LONG:-}" ]; then
  not_here "takes a CPU from all of the machine: only with runtests --full"
elif [ ! -w $one ] || [ "$(cat $online)" != 0-1 ]; then
  not_here "it cannot here, or there are not two"
elif [ -n "$(others)" ]; then
  not_here "other cpusets of this machine would lose it for good"
else
  trap '{ status=$?; put_back; (exit "$status"); cleanup; }' EXIT
  ok "two steps again" spawn_two
  ok "apart" wait_for 20 apart
  echo 0 >$one
  seen=no
  wait_for 1 field_is pus 0 && seen=yes
  sleep 0.2
  masks="$(mask_of a) $(mask_of b)"
  put_back
  is "$seen" yes "a CPU goes offline: the topology is read again"
  is "$masks" "0 0" "both steps are on what is left"
  ok "release" ctl release
  is "$(field owed)" 0 "nothing is owed"
  ok "it comes back, and is seen" wait_for 10 field_is pus 0-1
  stop_steps
fi
done_testing
