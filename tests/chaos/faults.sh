# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # from lib.sh, spine.sh and chaos
# SPDX-License-Identifier: GPL-2.0-or-later
#
# faults.sh - the faults of the campaign: fault_NAME does it and leaves the service running, can_NAME,
# where there is one, says whether this node has what it needs. What a fault draws it draws in this
# shell: $RANDOM of a subshell is not the seed's.

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
  kill -TERM "$colocd_pid"
  wait_for 60 process_gone "$colocd_pid" || found failed "colocd does not end by SIGTERM: $(tail -1 "$tmp/colocd.out")"
  kill_it
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
# The directory and all: it is there again at once.
fault_no_socket_dir() {
  rm -rf "$(dirname "$socket")"
  wait_for 30 test -S "$socket" || found failed "the socket is not put back: $(tail -1 "$tmp/colocd.out")"
}
# A child of the killed one has not closed the lock yet.
fault_lock() {
  kill_it
  flock "$tmp/store/lock" sleep 0.5 &
  begin
}
# By a second to a day, either way, of colocd's clock alone; half of the time over a restart.
fault_clock() {
  local off=(-86400 -3600 -1 0 1 3600 86400)
  echo "${off[RANDOM % 7]}" >"$tmp/clock"
  if [ $((RANDOM % 2)) = 0 ]; then fault_kill; else nap 60; fi
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
# colocd stands still while the group of a step that it has placed goes.
fault_vanished() {
  local d
  d=$(job_dirs | while read -r d; do find "$d" -maxdepth 1 -type d -name 'step_[0-9]*' 2>/dev/null; done | head -1)
  kill -STOP "$colocd_pid"
  [ -z "$d" ] || wait_for 5 test ! -d "$d"
  kill -CONT "$colocd_pid"
}
# A group of somebody else's below a step's keeps the kernel from making the step's smaller (EBUSY;
# cgroup v1). New steps come meanwhile.
can_busy() { [ -z "$step_below" ]; }
fault_busy() {
  local d
  job 'sleep 1'
  wait_for 20 test -e "$tmp/began.$n_jobs" || return 0
  d=$(step_dir "$(job_id "c$n_jobs")" 0)
  if mkdir "$d/held" 2>/dev/null; then
    cat "$d/cpuset.mems" >"$d/held/cpuset.mems"
    cat "$d/cpuset.cpus" >"$d/held/cpuset.cpus"
  fi 2>/dev/null
  job
  job
  nap 90
  # Of a step that ended meanwhile Slurm could not remove the directories above.
  rmdir "$d/held" "$d" "${d%/*}" 2>/dev/null
  return 0
}
fault_cancel() {
  local j name
  read -r j name < <(squeue -h -t R -o '%i %j' | head -1)
  [ -n "$j" ] || return 0
  echo "${name#c}" >>"$tmp/cancelled"
  scancel "$j"
}
# A job that has begun, drawn by the seed, in $drawn; '' there is none. In one that has not, Slurm would
# create no step while it is suspended, and srun asks again ever more seldom.
draw_job() {
  local jobs
  mapfile -t jobs < <(squeue -h -t R -o '%i %j' | sort -n | while read -r drawn name; do
    [ ! -e "$tmp/began.${name#c}" ] || echo "$drawn"
  done)
  drawn=${jobs[0]:+${jobs[RANDOM % ${#jobs[@]}]}}
}
# Suspended, and it goes on after up to three seconds (Slurm freezes a job two seconds after it has
# stopped it), or else when others of these faults, or the round's end, come to it.
fault_suspend() {
  draw_job
  [ -n "$drawn" ] && scontrol suspend "$drawn" 2>/dev/null || return 0
  [ $((RANDOM % 2)) = 0 ] || return 0
  nap 99
  nap 99
  nap 99
  scontrol resume "$drawn" 2>/dev/null
}
resume_all() {
  local j
  for j in $(squeue -h -t S -o %i); do scontrol resume "$j" 2>/dev/null; done
}
fault_resume() { resume_all; }
# Before, while and after no colocd runs.
fault_suspend_kill() {
  draw_job
  local when=$((RANDOM % 3))
  [ -n "$drawn" ] || return 0
  [ $when != 0 ] || scontrol suspend "$drawn" 2>/dev/null
  nap 30
  kill_it
  [ $when != 1 ] || scontrol suspend "$drawn" 2>/dev/null
  nap 99
  [ $((RANDOM % 2)) = 0 ] || resume_all
  begin
  [ $when != 2 ] || scontrol suspend "$drawn" 2>/dev/null
  nap 99
  resume_all
}
# Stopped by a signal, and told to go on.
fault_stop() {
  draw_job
  [ -n "$drawn" ] && scancel -s STOP "$drawn.0" 2>/dev/null || return 0
  nap 60
  scancel -s CONT "$drawn.0" 2>/dev/null
  return 0
}
fault_forks() {
  # shellcheck disable=SC2016 # the step's
  job 'for i in $(seq 100); do (exit 0) & done; wait'
}
fault_threads() {
  job "OMP_NUM_THREADS=1000 timeout 5 $programs/stencil --work=1 >/dev/null 2>&1; true"
}

# A step's own program writes nonsense where colocd reads its reports and counts.
fault_liar() { job "'$builddir/tests/live/live_liar' 1.5 $RANDOM; true"; }

# A CPU goes, and comes back; half of the time colocd is started anew meanwhile. On cgroup v1 every
# cpuset would have lost it for good.
can_offline() { [ -n "$step_below" ] && [ -w /sys/devices/system/cpu/cpu1/online ]; }
fault_offline() {
  local one=/sys/devices/system/cpu/cpu1/online
  # A launch that meets it is Slurm's to answer for.
  wait_for 60 all_began || found failed "jobs do not begin: $(squeue -h -o '%i %T %r' | paste -sd' ')"
  printf . >>"$tmp/offline"
  echo 0 >$one || found failed "the CPU does not go offline"
  nap 90
  [ $((RANDOM % 2)) = 0 ] || fault_kill
  nap 90
  echo 1 >$one
  printf . >>"$tmp/offline"
}

# --- the store ----------------------------------------------------------------------------------

fill_store() { dd if=/dev/zero of="$tmp/store/ballast" bs=64k 2>/dev/null; }
fault_full_disk() {
  fill_store
  nap 90
  rm -f "$tmp/store/ballast"
}
# Full while a step that was placed ends.
fault_full_end() {
  job 'sleep 0.3'
  wait_for 20 test -e "$tmp/began.$n_jobs"
  fill_store
  wait_for 20 test -e "$tmp/job.$n_jobs"
  nap 50
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

fault_names=(kill kill_twice term freeze guard reload slurmd full_disk full_end read_only full_start corrupt
  truncate no_socket no_socket_dir no_descriptors lock clock busy vanished cancel release forks
  threads liar suspend resume suspend_kill stop offline)
