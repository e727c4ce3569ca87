#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# actuators-v2.sh [gang] [lend] [memory] - two sockets, cgroup v2: steps take turns by cgroup.freeze,
# borrow cores by cpu.idle, and their memory goes where they go; all is put back. One boot for all
# parts, or for those that are named.
[ -n "${COLOC_GUEST:-}" ] || exec "$(dirname "$0")/guest" --timeout 580 "$(realpath "$0")" "$@"
. "$(dirname "$0")/../live/lib.sh"
. "$(dirname "$0")/../live/spine.sh"
. "$(dirname "$0")/../live/turns.sh"
need_spin
# shellcheck disable=SC2034 # for start_spine
spine_timeout_ms=3000
export MINISLURM_POLL=0.5
parts=${*:-gang lend memory}
# One memory node (guest's --uml): nowhere to go.
[ -e /sys/devices/system/node/node1 ] || parts=${parts/memory/}
has_part() { [[ " $parts " == *" $1 "* ]]; }
phase() { diag "$SECONDS s: $*"; }
# configure POLICY [line...]: a new colocd; an emulated machine gets slow ticks and long slices.
configure() {
  local policy=$1
  shift
  [ -z "${colocd_pid:-}" ] || stop "$colocd_pid"
  {
    printf 'store: %s\nsocket: %s\nlog: debug\npolicy: %s\n' "$tmp/store" "$socket" "$policy"
    printf 'interval_ms: 500\ntick_ms: 1000\n'
    printf '%s\n' "$@"
  } >"$tmp/coloc.yaml"
  start_colocd "$tmp/coloc.yaml" "$socket"
  colocd_pid=$pid
}
start_spine 'policy: none'
job_level() { dirname "$(dirname "$(step_dir "$(job_id "$1")" 0)")"; }

if has_part gang; then
  phase "gang: steps take turns"
  configure gang 'gang_slice_ms: 1500' 'freeze_max_ms: 10000' 'reserve: 2-7'
  like "$(ctl --json status)" '"actuator": ?"cgroup-v2"' "the backend is cgroup v2"
  spin_step g1 --coloc=on
  spin_step g2 --coloc=on
  one=$(job_id g1) two=$(job_id g2)
  ok "the first takes turns" rotates "$one"
  ok "the second takes turns" rotates "$two"
  is "$(cat "$(job_level g1)/cgroup.freeze" "$(job_level g2)/cgroup.freeze" | sort -u)" 0 \
    "the jobs' own level is never frozen"

  phase "drain"
  ctl drain >/dev/null
  ok "drain: those that run take their turns" rotates "$one"
  ctl resume >/dev/null

  phase "Slurm's suspend"
  scontrol suspend "$one"
  ok "a suspend is seen" wait_for 10 suspended "$one"
  ok "... Slurm freezes it" wait_for 10 is_frozen "$one"
  thawed=0
  for _ in $(seq 12); do
    ! is_thawed "$one" || thawed=$((thawed + 1))
    sleep 0.5
  done
  is $thawed 0 "a suspended step stays so for four slices"
  ok "the other has the node" is_thawed "$two"
  scontrol resume "$one"
  ok "a resumed step takes its turns again" rotates "$one"

  phase "kill -9"
  g=$(guard_of "$colocd_pid")
  wait_for 10 is_frozen "$one"
  # No process is started while the time runs: an emulated machine takes long for that alone.
  file_one=$(freezer_of "$one") file_two=$(freezer_of "$two")
  t0=$EPOCHREALTIME frozen=1
  kill -KILL "$colocd_pid"
  while [ "$frozen" != 0 ] && [ $((${EPOCHREALTIME%.*} - ${t0%.*})) -lt 30 ]; do
    read -r frozen <"$file_one"
    [ "$frozen" != 0 ] || read -r frozen <"$file_two"
  done
  took=$((10#${EPOCHREALTIME/./} / 1000 - 10#${t0/./} / 1000))
  at_most $took 5000 "kill -9: ms until all are thawed, a second with five times slack"
  ok "its guard ends" wait_for 5 process_gone "$g"
  wait "$colocd_pid" 2>/dev/null
  start_colocd "$tmp/coloc.yaml" "$socket"
  colocd_pid=$pid
  ok "the next daemon takes turns again" rotates "$one"

  phase "scancel of a frozen step"
  wait_for 10 is_frozen "$two"
  scancel "$two"
  ok "scancel ends a frozen step" wait_for 10 job_gone g2
  is "$(node_state | sed 's/mixed/allocated/')" allocated "the node is not drained"
  ok "one alone takes no turns" wait_for 5 is_thawed "$one"
  spin_step g3 --coloc=on
  ok "with a new one it does" rotates "$one"
  wait_for 10 is_frozen "$one"
  ctl release >/dev/null
  ok "release thaws" all_thawed
  is "$(rows)" 0 "the ledger is empty"
  stop_steps
fi

if has_part lend; then
  phase "lend: an idle neighbour's core, by cpu.idle"
  configure callisto 'min_dwell_s: 0' 'max_moves_per_min: 0' 'reserve: 2-7'
  # It waits without starting anything: that alone would keep an emulated core busy.
  mkfifo "$tmp/never"
  srun -J lazy -c2 --coloc=on bash -c "exec 3<>'$tmp/never'; while :; do
    if [ -e '$tmp/wake' ]; then for ((i = 0; i < 20000; i++)); do :; done; else read -rt 3 -u 3; fi
  done" >"$tmp/srun.lazy" 2>&1 &
  started_pids+=("$!")
  runs() { [ -n "$(job_id "$1")" ] && [ -n "$(step_threads "$(step_dir "$(job_id "$1")" 0)")" ]; }
  ok "the idle step runs" wait_for 20 runs lazy
  spin_step busy --coloc=on
  busy=$(job_id busy) lazy=$(job_id lazy)
  idle_of() { cat "$(job_level "$1")/cpu.idle"; }
  borrows() { cpuset_is busy 0-1 && [ "$(idle_of busy)" = 1 ]; }
  is_home() { [ "$(cpuset_of busy)" != 0-1 ] && [ "$(idle_of busy)" = 0 ]; }
  ok "the busy step borrows the idle neighbour's core, its job is idle" wait_for 20 borrows
  is "$(idle_of lazy)" 0 "the donor's job is not"

  phase "the donor wakes while nobody takes the loan back"
  kill -STOP "$colocd_pid"
  touch "$tmp/wake"
  cpu_of_lazy() { [ "$(cpu_ms "$lazy")" -gt "$1" ]; }
  wait_for 20 cpu_of_lazy $(($(cpu_ms "$lazy") + 500))
  # One of the donee's threads is kept on the donor's core: the kernel would move it away.
  core=$(cpuset_of lazy)
  rival=$(step_pids "$busy" | head -1)
  taskset -pc "$core" "$rival" >/dev/null
  ns_of() { cut -d' ' -f1 "/proc/$1/schedstat"; }
  # The donor's part of what both did, in percent: the clock of an emulated machine says little.
  share() {
    local donor a0 b0 a b
    donor=$(step_pids "$lazy" | head -1)
    a0=$(ns_of "$donor") b0=$(ns_of "$rival")
    sleep 8
    a=$(($(ns_of "$donor") - a0)) b=$(($(ns_of "$rival") - b0))
    echo $((100 * a / (a + b)))
  }
  with=$(share)
  echo 0 >"$(job_level busy)/cpu.idle"
  without=$(share)
  echo 1 >"$(job_level busy)/cpu.idle"
  taskset -pc 0-1 "$rival" >/dev/null
  diag "donor's part of its core: $with % beside an idle donee, $without % beside an equal"
  ok "an awake donor has its core" test "$with" -ge 90
  ok "beside an equal it would not" test "$without" -le 75
  kill -CONT "$colocd_pid"
  ok "the donee is home again, its job's priority too" wait_for 20 is_home
  rm "$tmp/wake"
  ok "the donor sleeps: lent again" wait_for 20 borrows

  phase "kill -9, release"
  stop "$colocd_pid" KILL
  ok "killed: the loan stays" borrows
  start_colocd "$tmp/coloc.yaml" "$socket"
  colocd_pid=$pid
  like "$(log)" 'put back the priorities of 1 steps' "the next daemon puts priorities back first"
  ok "... and lends again" wait_for 20 borrows
  ctl release >/dev/null
  is "$(cpuset_of busy) $(idle_of busy)" "0-7 0" "release: Slurm's cpuset and priority"
  is "$(rows)" 0 "the ledger is empty"
  stop_steps
fi

# MiB of a job's program on memory nodes 0 and 1, as its mappings say: "0 32".
mib_on_nodes() {
  local p
  p=$(step_pids "$1" | xargs -I{} sh -c 'grep -qx perl /proc/{}/comm && echo {}' 2>/dev/null | head -1)
  awk '{ for (i = 2; i <= NF; i++) if ($i ~ /^N[01]=/) n[substr($i, 2, 1)] += substr($i, 4) }
    END { printf "%d %d\n", n[0] / 256, n[1] / 256 }' "/proc/$p/numa_maps"
}
if has_part memory; then
  phase "memory: stays where it is"
  # 32 MiB on one socket, then a neighbour with priority to arrive: fair gives halves by order.
  # shellcheck disable=SC2016 # perl's
  hog='$x = "x" x (32 << 20); print "ready\n"; sleep 1000'
  start_hog() {
    srun -J "$1" -n1 -c2 --coloc=on perl -e '$| = 1;'"$hog" >"$tmp/srun.$1" 2>&1 &
    started_pids+=("$!")
    wait_for 30 grep -q ready "$tmp/srun.$1" || diag "no memory was taken: $(cat "$tmp/srun.$1")"
  }
  # A lone step has the whole node; the test's hand narrows what it may have: the other socket.
  mems_of() { cat "$(step_dir "$(job_id "$1")" 0)/cpuset.mems"; }
  node_of() { case $(cpuset_of "$1") in 0-3) echo 0 ;; 4-7) echo 1 ;; *) echo both ;; esac; }
  # On which node most of its memory is.
  home_of() {
    local a b
    read -r a b < <(mib_on_nodes "$(job_id "$1")")
    if [ "$a" -ge 32 ] && [ "$b" -lt 8 ]; then echo 0; elif [ "$b" -ge 32 ] && [ "$a" -lt 8 ]; then echo 1; else echo "$a $b"; fi
  }
  home_is() { [ "$(home_of "$1")" = "$2" ]; }
  for way in stay follow; do
    configure fair "memory: $way" 'min_dwell_s: 0' 'reserve: 4-7'
    start_hog m
    is "$(node_of m) $(home_of m)" "0 0" "$way: on socket 0 with its memory"
    [ $way = follow ] || slurms=$(mems_of m)
    diag "$way: MiB on nodes 0 and 1: $(mib_on_nodes "$(job_id m)"), cpuset.mems $(mems_of m)"
    # The other half of the machine is all there is now.
    sed -i 's/^reserve:.*/reserve: 0-3/' "$tmp/coloc.yaml"
    ctl reload >/dev/null
    # An arrival decides anew.
    spawn other --coloc=on -n1
    end_job other
    moved() { [ "$(node_of m)" = 1 ]; }
    ok "$way: moved to socket 1" wait_for 20 moved
    if [ $way = stay ]; then
      sleep 5
      is "$(home_of m)" 0 "stay: its memory is where it was"
    else
      ok "follow: its memory too" wait_for 30 home_is m 1
      is "$(mems_of m)" 1 "follow: its cpuset.mems"
      like "$(log)" 'memory on node 1: [1-9][0-9]* MiB moved' "the log says how much"
      diag "$(log | grep 'memory on node 1')"
      stop "$colocd_pid" KILL
      is "$(mems_of m)" 1 "killed: it stays so"
      start_colocd "$tmp/coloc.yaml" "$socket"
      colocd_pid=$pid
      like "$(log)" 'put back the memory nodes of 1 steps' "the next daemon puts it back first"
      mems_are() { [ "$(mems_of m)" = "$1" ]; }
      ok "... and it follows again" wait_for 20 mems_are 1
      ctl release >/dev/null
      ok "release: Slurm's memory nodes" wait_for 5 mems_are "$slurms"
      is "$(rows)" 0 "the ledger is empty"
    fi
    diag "$way: MiB on nodes 0 and 1: $(mib_on_nodes "$(job_id m)"), cpuset.mems $(mems_of m)"
    stop_steps
  done
fi

stop "$colocd_pid"
ok "no cgroup of the tests is left" wait_for 10 no_jobs
[ "$tests_failed" = 0 ] || tail -40 "$tmp/colocd.out" | sed 's/^/# /'
done_testing
