#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# allow.sh - which partitions', users' and accounts' steps are taken, also after a reload; a step
# that is not runs as without us. And contrib/examples/job_submit.lua in a real slurmctld.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
need SLURM
lua=''
for d in /usr/lib/*/slurm-wlm /usr/lib/*/slurm /usr/lib*/slurm; do
  [ ! -e "$d/job_submit_lua.so" ] || lua=$d/job_submit_lua.so
done
# shellcheck disable=SC2034 # start_spine's
spine_cluster=(--conf "PartitionName=shared Nodes=ALL MaxTime=INFINITE State=UP OverSubscribe=FORCE:16")
start_spine 'policy: fair' 'allow:' '  partitions: [shared]'

run srun --coloc=on --coloc-verbose=1 -p main bash -c 'exit 3'
is "$rc" 3 "a step of another partition runs as without us"
like "$err" "refused: partition 'main' is not in allow.partitions, ignoring" "told to who asked"
run srun --coloc=on -p main true
is "$rc $err" "0 " "and not to others"
run srun --coloc=on --coloc-verbose=1 -p shared true
like "$err" 'policy fair, cores' "a step of the partition is taken"
for _ in 1 2 3 4 5; do srun --coloc=on -p main true; done
like "$(log)" "refused: partition 'main' is not in allow.partitions" "refusals are in the log"
is "$(acct -P -n -o JobID | grep -c '\.0')" 1 "only who was taken is accounted"

# What the environment says of partition and account is the user's to write.
run env SLURM_JOB_PARTITION=shared SLURM_JOB_ACCOUNT=physics srun --coloc=on --coloc-verbose=1 -p main true
like "$err" "refused: partition 'main' is not in allow.partitions" "a variable of that name moves no job into the partition"
run srun --coloc=on --coloc-verbose=1 -p main --export=ALL,SLURM_JOB_PARTITION=shared true
like "$err" "refused: partition 'main' is not in allow.partitions" "nor does --export"

reload() {
  printf 'store: %s\nsocket: %s\nlog: info\npolicy: fair\n' "$tmp/store" "$socket" >"$tmp/coloc.yaml"
  printf '%s\n' "$@" >>"$tmp/coloc.yaml"
  kill -HUP "$colocd_pid"
}
count() { log | grep -c 'configuration read again'; }
said() { [ "$(count)" -gt "$1" ]; }
had=$(count)
reload 'allow:' '  users: [nobody]'
ok "SIGHUP: read again" wait_for 10 said "$had"
run srun --coloc=on --coloc-verbose=1 -p main true
like "$err" "refused: user 'root' is not in allow.users" "the list of users holds"
lines=$(log | grep -c 'refused:')
for _ in 1 2 3; do srun --coloc=on true; done
is "$(log | grep -c 'refused:')" "$lines" "further refusals within a minute are not logged"
had=$(count)
reload 'allow:' '  users: [root]' '  accounts: [physics]'
ok "SIGHUP: read again" wait_for 10 said "$had"
run srun --coloc=on --coloc-verbose=1 true
like "$err" "refused: account '.*' is not in allow.accounts" "the list of accounts holds"
run env SLURM_JOB_ACCOUNT=physics srun --coloc=on --coloc-verbose=1 true
like "$err" "refused: account '.*' is not in allow.accounts" "whatever the environment says"
cat >"$tmp/spoof.sh" <<'EOF'
#!/bin/bash
export SLURM_JOB_ACCOUNT=physics
srun --coloc=on --coloc-verbose=1 true
EOF
chmod 755 "$tmp/spoof.sh"
run salloc -Q "$tmp/spoof.sh"
like "$err" "refused: account '.*' is not in allow.accounts" "nor within an allocation"
run srun -A physics --coloc=on --coloc-verbose=1 true
like "$err" 'policy fair, cores' "a job that Slurm has in that account is taken"

# --- slurmctld does not answer
mkdir "$tmp/no"
printf '#!/bin/sh\n[ -e %s ] || exec sleep 600\nexec %s "$@"\n' "$tmp/answers" "$(command -v squeue)" >"$tmp/no/squeue"
chmod 755 "$tmp/no/squeue"
PATH=$tmp/no:$PATH restart_colocd
srun -A physics -J waits --coloc=on sleep 60 >"$tmp/waits" 2>&1 &
started_pids+=("$!")
job=$(new_job_id waits)
explained() { ctl explain "$job.0" 2>&1 | grep -qE "$1"; }
ok "a step of a job that nobody knows is kept out, and told why" wait_for 20 explained 'slurmctld has not said yet'
account() { acct -n -P -j "$job" -o Account; }
account_is() { [ "$(account)" = "$1" ]; }
is "$(account)" "" "what its environment says is not taken down as its account"
touch "$tmp/answers"
ok "once slurmctld answers it is placed" wait_for 60 explained '^State +placed'
ok "and has its account" wait_for 10 account_is physics
scancel "$job"
ok "and ends" wait_for 20 job_gone waits
had=$(count)
reload
ok "SIGHUP: no lists" wait_for 10 said "$had"
run srun --coloc=on --coloc-verbose=1 true
like "$err" 'policy fair, cores' "everybody is taken"

# --- co-location for a partition
if [ -z "$lua" ]; then
  diag "no job_submit/lua plugin here: contrib/examples/job_submit.lua is not tested"
  done_testing
fi
"$minislurm" down "$cluster" --quiet
spine_cluster+=(--conf JobSubmitPlugins=lua)
mkdir -p "$tmp/cluster${#cluster_dirs[@]}/etc"
cp "$srcdir/contrib/examples/job_submit.lua" "$tmp/cluster${#cluster_dirs[@]}/etc/"
start_cluster --plugin-args "socket=$socket timeout_ms=$spine_timeout_ms" "${spine_cluster[@]}"
find_layout
# A step that was taken is told the socket. (--coloc-verbose would ask for co-location itself.)
# shellcheck disable=SC2016
script='echo "env ${COLOC-none}"; srun bash -c '"'"'echo "socket ${COLOC_SOCKET-none}"'"'"
sbatch_wait -p shared --wrap "$script"
like "$out" '^env on$' "job_submit.lua: a batch job of the partition has COLOC=on"
like "$out" "^socket $socket\$" "and its srun is taken"
sbatch_wait -p main --wrap "$script"
like "$out" '^env none$' "a job of another partition has not"
like "$out" '^socket none$' "and is left alone"
COLOC=off sbatch_wait -p shared --wrap "$script"
like "$out" '^env off$' "the user's own word stays"
like "$out" '^socket none$' "and holds"
sbatch_wait -p shared,main --wrap "$script"
like "$out" '^env none$' "one of two partitions is not enough"
run srun -p shared bash -c 'exit 2'
is "$rc" 2 "srun is not touched"
done_testing
