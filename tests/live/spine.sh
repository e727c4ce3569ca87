# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # from lib.sh, for the tests
# SPDX-License-Identifier: GPL-2.0-or-later
#
# spine.sh - for the live tests that need it all: Slurm with the plugin, and the real colocd.
# Source after lib.sh, then call start_spine.

colocctl=$builddir/nodesvc/colocctl
colocacct=$builddir/nodesvc/colocacct
socket=$tmp/colocd.sock

# start_spine [line of coloc.yaml...]: colocd and a cluster whose plugin knows it; sets colocd_pid.
start_spine() {
  need ROOT SLURM PLUGIN COLOCD
  {
    printf 'store: %s\nsocket: %s\nlog: debug\n' "$tmp/store" "$socket"
    printf '%s\n' "$@"
  } >"$tmp/coloc.yaml"
  chmod 644 "$tmp/coloc.yaml"
  chmod 755 "$tmp"
  start_colocd "$tmp/coloc.yaml" "$socket"
  colocd_pid=$pid
  start_cluster --plugin-args "socket=$socket timeout_ms=250"
  cgroup=/sys/fs/cgroup/cpuset/slurm_$node
  [ "$(nproc)" -ge 2 ] || skip_all "CPUS: needs two CPUs"
}

ctl() { "$colocctl" --socket="$socket" "$@"; }
acct() { "$colocacct" --store="$tmp/store" -S 2000-01-01 "$@"; }
log() { cat "$tmp/colocd.out"; }

# Background steps that stay until stop_steps; a step says its own mask, as its first act, in
# $tmp/born.NAME.
spawn() {
  local name=$1
  shift
  rm -f "$tmp/born.$name"
  srun -J "$name" "$@" bash -c \
    "sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status >$tmp/born.tmp.$name.\$SLURM_PROCID
     mv $tmp/born.tmp.$name.\$SLURM_PROCID $tmp/born.$name; exec sleep 600" \
    >"$tmp/srun.$name" 2>&1 &
  started_pids+=("$!")
  wait_for 20 test -s "$tmp/born.$name" || diag "step $name did not start: $(cat "$tmp/srun.$name")"
}
born() { cat "$tmp/born.$1"; }
job_id() { squeue -h -n "$1" -o %i; }
stop_steps() {
  scancel -u root 2>/dev/null
  wait_for 20 no_jobs || diag "jobs are left: $(squeue -h)"
}
no_jobs() { [ -z "$(squeue -h)" ] && [ -z "$(ls -d "$cgroup"/uid_*/job_* 2>/dev/null)" ]; }
end_job() { scancel "$(job_id "$1")" && wait_for 20 job_gone "$1"; }
job_gone() { [ -z "$(job_id "$1")" ]; }

# What the kernel holds: "STEP CPUSET" and "STEP COMM MASK" of every thread, sorted.
kernel_state() {
  local s t name
  for s in "$cgroup"/uid_*/job_*/step_*; do
    [ -d "$s" ] || continue
    name=${s#"$cgroup"/uid_*/}
    echo "$name cpuset $(cat "$s/cpuset.cpus")"
    while read -r t; do
      # slurmstepd's helper threads come and go: they count by mask, not by number.
      sed -n 's/^Name:[[:space:]]*//p; s/^Cpus_allowed_list:[[:space:]]*//p' \
        "/proc/$t/status" 2>/dev/null | paste -sd' ' | sed "s|^|$name |"
    done <"$s/tasks"
  done | sort -u
}
# One step's cpuset and its task's mask.
cpuset_of() { cat "$cgroup"/uid_*/job_"$(job_id "$1")"/step_0/cpuset.cpus; }
mask_of() {
  local t
  while read -r t; do
    grep -qx sleep "/proc/$t/comm" 2>/dev/null &&
      sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$t/status"
  done <"$(echo "$cgroup"/uid_*/job_"$(job_id "$1")"/step_0/tasks)" | sort -u | paste -sd' '
}
cpuset_is() { [ "$(cpuset_of "$1")" = "$2" ]; }
