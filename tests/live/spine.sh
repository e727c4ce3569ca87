# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # from lib.sh, for the tests
# SPDX-License-Identifier: GPL-2.0-or-later
#
# spine.sh - for the live tests that need it all: Slurm with the plugin, and the real colocd.
# Source after lib.sh, then call start_spine.

colocctl=$builddir/nodesvc/colocctl
colocacct=$builddir/nodesvc/colocacct
socket=$tmp/colocd.sock

# COLOC_LIVE_UID: the steps are this user's. What they write is in $tmp, where then all may write;
# the socket's directory must not be such a one.
steps_user=root
if [ -n "${COLOC_LIVE_UID:-}" ]; then
  socket=$tmp/run/colocd.sock steps_user=$COLOC_LIVE_UID
  srun() { setpriv --reuid="$COLOC_LIVE_UID" --regid="$COLOC_LIVE_UID" --clear-groups srun "$@"; }
fi

# start_spine [line of coloc.yaml...]: colocd and a cluster whose plugin knows it; sets colocd_pid.
# Before: spine_nodes, spine_timeout_ms, and spine_cluster, more options of start_cluster. In an
# emulated machine a step's registration takes longer than the plugin would wait by default.
start_spine() {
  need ROOT SLURM PLUGIN COLOCD
  [ -z "$emulated" ] || : "${spine_timeout_ms:=3000}"
  : "${spine_timeout_ms:=250}"
  {
    printf 'store: %s\nsocket: %s\nlog: debug\n' "$tmp/store" "$socket"
    printf '%s\n' "$@"
  } >"$tmp/coloc.yaml"
  chmod 644 "$tmp/coloc.yaml"
  if [ "$steps_user" = root ]; then chmod 755 "$tmp"; else chmod 1777 "$tmp"; fi
  # As on a site: what it asks slurmctld needs it. The file comes with the cluster.
  export SLURM_CONF=$tmp/cluster${#cluster_dirs[@]}/etc/slurm.conf
  start_colocd "$tmp/coloc.yaml" "$socket"
  colocd_pid=$pid
  start_cluster --plugin-args "socket=$socket timeout_ms=$spine_timeout_ms" \
    ${spine_nodes:+--nodes "$spine_nodes"} "${spine_cluster[@]+"${spine_cluster[@]}"}"
  find_layout
  [ "$(nproc)" -ge 2 ] || skip_all "CPUS: needs two CPUs"
}

# colocd anew.
restart_colocd() {
  stop "$colocd_pid"
  start_colocd "$tmp/coloc.yaml" "$socket"
  colocd_pid=$pid
}

# Where Slurm keeps this node's jobs, and how a step's threads are listed there. In v2 the step's
# CPUs are set at its "user" level and count as far as the levels above allow them.
find_layout() {
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    cgroup=/sys/fs/cgroup/system.slice/${node}_slurmstepd.scope
    step_below=/user cpus_file=cpuset.cpus.effective threads_file=cgroup.threads
  else
    cgroup=/sys/fs/cgroup/cpuset/slurm_$node
    step_below='' cpus_file=cpuset.cpus threads_file=tasks
  fi
}
# job_dirs [JOB], step_dir JOB STEP: of its cpuset. Slurm 26.05 names a job's directory in v2 by its
# SLUID, "s" and 13 digits or capitals, which squeue has and other releases know nothing of.
sluid_glob=s$(printf '[0-9A-Z]%.0s' {1..13})
job_dirs() {
  local name=''
  if [ $# = 0 ]; then
    name=$sluid_glob
  elif compgen -G "$cgroup/$sluid_glob" >/dev/null || compgen -G "$cgroup/*/$sluid_glob" >/dev/null; then
    name=$(sluids | sed -n "s/^$1 //p")
  fi
  find "$cgroup" -maxdepth 2 -type d \( -name "job_${1:-*}" -o -name "${name:-job_$1}" \) 2>/dev/null
}
sluids() { squeue -h -O jobid,sluid 2>/dev/null | awk '{ print $1, $2 }'; }
# The same name for a job's directory in every release.
job_name_of() {
  case ${1##*/} in
  job_*) echo "${1##*/}" ;;
  *) echo "job_$(sluids | sed -n "s/ ${1##*/}\$//p")" ;;
  esac
}
step_dir() { echo "$(job_dirs "$1")/step_$2$step_below"; }
# step_threads DIR: all thread ids, also of levels below. threads_status DIR: their status, one after
# another; of one that has gone meanwhile, nothing.
step_threads() { find "$1" -name "$threads_file" -exec cat {} + 2>/dev/null; }
threads_status() { step_threads "$1" | sed 's,.*,/proc/&/status,' | xargs -r cat 2>/dev/null || true; }

ctl() { "$colocctl" --socket="$socket" "$@"; }
acct() { "$colocacct" --store="$tmp/store" -S 2000-01-01 "$@"; }
log() { cat "$tmp/colocd.out"; }

# What has hardly run is not placed, nor is a shell that waits: in a step's shell, before its exec.
# Without a loop: once it has had a child, bash makes two system calls a turn, which take 170 us where
# the kernel is a process.
has_run=': {1..80000}'
# Background steps that stay until stop_steps; a step says its own mask, as its first act, in
# $tmp/born.NAME, runs for a moment, and is where it was placed when spawn returns.
spawn() {
  local name=$1
  shift
  rm -f "$tmp/born.$name"
  srun -J "$name" "$@" bash -c \
    "sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status >$tmp/born.tmp.$name.\$SLURM_PROCID
     mv $tmp/born.tmp.$name.\$SLURM_PROCID $tmp/born.$name; $has_run; exec sleep 600" \
    >"$tmp/srun.$name" 2>&1 &
  started_pids+=("$!")
  wait_for 20 test -s "$tmp/born.$name" || diag "step $name did not start: $(cat "$tmp/srun.$name")"
  wait_for 60 as_planned "$name" || diag "step $name is not where it was placed"
}
# Of steps that are not placed: whether they have run.
as_planned() {
  local id dir state set
  id=$(job_id "$1")
  dir=$(step_dir "$id" 0)
  ! threads_status "$dir" | grep -qx 'Name:[[:space:]]*bash' || return 1
  read -r state set < <(ctl jobs 2>/dev/null | awk -v step="$id.0" '
    $1 == step { for (i = 2; i < NF; i++) if ($i == "placed") print $i, $(i + 2) }')
  [ "${state:-}" != placed ] || [ "$(placed_in "$dir")" = "$set" ]
}
born() { cat "$tmp/born.$1"; }
job_id() { squeue -h -n "$1" -o %i; }
# squeue says 0 of a job that is not there, too.
job_known() { [ -n "$(job_id "$1")" ]; }
# The ID of a job whose srun was started in the background: as soon as it has one.
new_job_id() {
  wait_for 20 job_known "$1" || diag "job $1 did not begin" >&2
  job_id "$1"
}
stop_steps() {
  scancel -u "$steps_user" 2>/dev/null
  wait_for 20 no_jobs || diag "jobs are left: $(squeue -h)"
}
no_jobs() { [ -z "$(squeue -h)" ] && [ -z "$(job_dirs)" ]; }
end_job() { scancel "$(job_id "$1")" && wait_for 20 job_gone "$1"; }
job_gone() { [ -z "$(job_id "$1")" ]; }

# What the kernel holds: "STEP CPUSET" and "STEP COMM MASK" of every thread, sorted.
kernel_state() {
  local s name
  for s in $(job_dirs | sed 's,$,/step_*,'); do
    [ -d "$s" ] || continue
    name=$(job_name_of "${s%/*}")/${s##*/}
    s=$s$step_below
    echo "$name cpuset $(cat "$s/cpuset.cpus" "$s/$cpus_file" 2>/dev/null | sort -u | paste -sd' ')"
    # slurmstepd's helper threads come and go: they count by mask, not by number.
    threads_status "$s" | awk -v step="$name" '
      sub(/^Name:[[:space:]]*/, "") { comm = $0 }
      sub(/^Cpus_allowed_list:[[:space:]]*/, "") { print step, comm, $0 }'
  done | sort -u
}
# wall_of NAME: the cpuset of a step, which is Slurm's. cpuset_of NAME: where it was placed, that is,
# where any of its threads may run (not slurmstepd's, nor those of a shell that waits for others).
# mask_of NAME: its tasks' masks.
wall_of() { cat "$(step_dir "$(job_id "$1")" 0)/$cpus_file"; }
cpuset_of() { placed_in "$(step_dir "$(job_id "$1")" 0)"; }
# placed_in DIR: the same for a step's directory.
placed_in() {
  threads_status "$1" | awk '
    $1 == "Name:" { name = $2 }
    $1 == "Tgid:" { tgid = $2 }
    $1 == "Pid:" && $2 == tgid { comm[tgid] = name }
    $1 == "Cpus_allowed_list:" { n++; of[n] = tgid; list[n] = $2 }
    END {
      for (t in comm) others += comm[t] !~ /^(slurmstepd|bash|sh|timeout)$/
      for (i = 1; i <= n; i++) {
        if (comm[of[i]] == "slurmstepd" || (others && comm[of[i]] ~ /^(bash|sh|timeout)$/)) continue
        parts = split(list[i], part, ",")
        for (k = 1; k <= parts; k++) {
          two = split(part[k], end, "-")
          for (c = end[1] + 0; c <= end[two] + 0; c++) { has[c] = 1; if (c > max) max = c }
        }
      }
      for (c = 0; c <= max; c++) {
        if (!(c in has)) continue
        for (last = c; (last + 1) in has; ) last++
        out = out (out == "" ? "" : ",") c (last > c ? "-" last : "")
        c = last
      }
      print out
    }'
}
mask_of() {
  threads_status "$(step_dir "$(job_id "$1")" 0)" |
    awk '$1 == "Name:" { name = $2 } $1 == "Cpus_allowed_list:" && name == "sleep" { print $2 }' | sort -u | paste -sd' '
}
cpuset_is() { [ "$(cpuset_of "$1")" = "$2" ]; }
