# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # from lib.sh, spine.sh and chaos
# SPDX-License-Identifier: GPL-2.0-or-later
#
# faults.sh - the faults of the campaign: fault_NAME does it and leaves the service running. What a
# fault draws it draws in this shell: $RANDOM of a subshell is not the seed's.

# A nap of 1 to $1 hundredths of a second, by the seed.
nap() {
  local s
  printf -v s '0.%02d' $((RANDOM % $1 + 1))
  sleep "$s"
}

# --- the service ------------------------------------------------------------------------------

alive() { kill -0 "$colocd_pid" 2>/dev/null && ! process_gone "$colocd_pid"; }
begin() {
  start_colocd "$tmp/coloc.yaml" "$socket"
  colocd_pid=$pid
}
kill_it() {
  kill -KILL "$colocd_pid" 2>/dev/null
  wait "$colocd_pid" 2>/dev/null
  return 0
}
# A start that has to fail, or is ended after two seconds.
try_start() { timeout 2 "$builddir/nodesvc/colocd" --config="$tmp/coloc.yaml" >>"$tmp/colocd.out" 2>&1; }

fault_kill() { kill_it && nap 60 && begin; }
fault_kill_twice() { kill_it && begin && kill_it && begin; }
fault_term() {
  stop "$colocd_pid"
  nap 30
  begin
}
fault_freeze() { kill -STOP "$colocd_pid" && nap 90 && kill -CONT "$colocd_pid"; }
fault_guard() {
  local g
  g=$(pgrep -P "$colocd_pid" -f colocd | head -1)
  [ -z "$g" ] || kill -KILL "$g"
  nap 20
}
fault_reload() { kill -HUP "$colocd_pid" && nap 10; }
fault_release() { ctl release >/dev/null; }
fault_no_descriptors() {
  local n
  n=$(find "/proc/$colocd_pid/fd" | wc -l)
  prlimit --pid "$colocd_pid" --nofile="$n:" || found failed "the limit was not set"
  nap 60
  prlimit --pid "$colocd_pid" --nofile=1024:
}
fault_no_socket() {
  mv "$socket" "$socket.away"
  nap 60
  mv "$socket.away" "$socket"
}

# --- Slurm --------------------------------------------------------------------------------------

# A step whose launch meets a slurmd that is not there fails, with Coloc or without: all jobs have
# begun before, and the next one begins when slurmd listens again.
fault_slurmd() {
  local p
  wait_for 60 all_began || found failed "jobs do not begin: $(squeue -h -o '%i %T %r' | paste -sd' ')"
  p=$(cat "$cluster/run/slurmd.$node.pid" 2>/dev/null || cat "$cluster/run/slurmd.pid")
  kill -TERM "$p"
  wait_for 30 process_gone "$p"
  slurmd -N "$node" -f "$SLURM_CONF" >>"$tmp/slurmd.out" 2>&1
  wait_for 30 slurmd_listens || found failed "slurmd does not come back: $(tail -1 "$tmp/slurmd.out")"
  wait_for 30 node_answers || found failed "the node is $(node_state) after a restart of slurmd"
}
slurmd_listens() {
  local port
  port=$(sed -n 's/^NodeName=.* Port=\([0-9]*\) .*/\1/p' "$SLURM_CONF")
  (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null
}
node_answers() { [[ $(sinfo -h -o %T) =~ ^(idle|allocated|mixed)$ ]]; }
fault_cancel() {
  local j name
  read -r j name < <(squeue -h -t R -o '%i %j' | head -1)
  [ -n "$j" ] || return 0
  echo "${name#c}" >>"$tmp/cancelled"
  scancel "$j"
}
fault_forks() {
  # shellcheck disable=SC2016 # the step's
  job 'for i in $(seq 100); do (exit 0) & done; wait'
}
fault_threads() {
  job "OMP_NUM_THREADS=1000 timeout 5 $programs/stencil --work=1 >/dev/null 2>&1; true"
}

# --- the store ----------------------------------------------------------------------------------

fill_store() { dd if=/dev/zero of="$tmp/store/ballast" bs=64k 2>/dev/null; }
fault_full_disk() {
  fill_store
  nap 90
  rm -f "$tmp/store/ballast"
}
fault_full_start() {
  kill_it
  fill_store
  try_start
  rm -f "$tmp/store/ballast"
  begin
}
# A file system with files open for writing cannot be made read-only: before a start.
fault_read_only() {
  kill_it
  wait_for 10 mount -o remount,ro "$tmp/store" ||
    found failed "the store was not made read-only: $(fuser -vm "$tmp/store" 2>&1 | paste -sd' ')"
  try_start
  mount -o remount,rw "$tmp/store"
  begin
}
# The first page: what the file is, and its tables.
fault_corrupt() {
  local at=$((RANDOM % 2000))
  kill_it
  printf 'this was a page of SQLite, once' |
    dd of="$tmp/store/coloc.db" bs=1 seek=$at conv=notrunc 2>/dev/null
  begin
}
fault_truncate() {
  local size=$((4096 + RANDOM % 8192))
  kill_it
  rm -f "$tmp/store/coloc.db-wal"
  truncate -s "$size" "$tmp/store/coloc.db"
  begin
}

fault_names=(kill kill_twice term freeze guard reload slurmd full_disk read_only full_start corrupt
  truncate no_socket no_descriptors cancel release forks threads)
