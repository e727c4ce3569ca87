#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# placement.sh - steps are placed by the rules of placement, once they run.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
# A count, which is set as it is: what a time comes to is the machine's.
start_spine 'policy: fair' 'launch_env:' '  openmp: {GOMP_SPINCOUNT: 1000, KMP_BLOCKTIME: 1}'

# --- one, two, four ---
spawn a --coloc=on
is "$(cpuset_of a)" 0-1 "a step alone is on its whole envelope"
spawn b --coloc=on
is "$(born b)" 0-1 "the second is born on what Slurm gave it"
like "$(cpuset_of b)" '^[01]$' "... and is on one core when it has run"
ok "the first moves to the other" cpuset_is a "$((1 - $(cpuset_of b)))"
is "$(mask_of a)" "$((1 - $(cpuset_of b)))" "its threads' masks follow"
is "$(wall_of a) $(wall_of b)" "0-1 0-1" "their cpusets stay Slurm's"
spawn c --coloc=on
spawn d --coloc=on
is "$(for j in a b c d; do cpuset_of $j; done | sort | uniq -c | awk '{print $1}' | paste -sd' ')" \
  "2 2" "four steps: two on each core"

# --- beside them ---
spawn plain
is "$(cpuset_of plain)" 0-1 "a step without --coloc keeps what Slurm gave"
spawn bound --coloc=on --cpu-bind=map_cpu:1
is "$(wall_of bound) $(mask_of bound)" "0-1 1" "a user's own --cpu-bind stands"
like "$(ctl explain "$(job_id bound)")" 'its user bound it' "... and that is the reason given"
spawn excluded --coloc=on --coloc-exclude
is "$(cpuset_of excluded)" 0-1 "--coloc-exclude stands"
is "$(for j in a b c d; do cpuset_of $j; done | sort | uniq -c | awk '{print $1}' | paste -sd' ')" \
  "2 2" "the four stay where they are"

# --- bound by Slurm, for options about something else: placed ---
for option in --hint=nomultithread --threads-per-core=1 --ntasks-per-core=1 '-B 1:2:1'; do
  # shellcheck disable=SC2086 # words
  spawn hint --coloc=on $option
  like "$(ctl --json jobs | tr -d ' \n' | grep -oE '"type":"bash","policy":"[a-z]*"' | sort | uniq -c)" \
    ' 5 "type":"bash","policy":"fair"' "$option: placed, the fifth"
  end_job hint
done

# --- an end widens ---
for j in b c d plain bound excluded; do end_job $j; done
ok "the last one gets its envelope back" wait_for 10 cpuset_is a 0-1
is "$(mask_of a)" 0-1 "with its threads"

# --- policies ---
spawn e --coloc-policy=lira
like "$(ctl explain "$(job_id e).0" 2>&1)" 'fair' "a later step is placed by the ruling policy"
like "$(ctl --json jobs 2>&1)" '"req_policy": ?"lira"' "and what it asked for is shown beside it"
stop_steps
spawn f --coloc-policy=none
is "$(born f)" 0-1 "policy none observes"
spawn g --coloc-policy=none
is "$(cpuset_of f) $(cpuset_of g)" "0-1 0-1" "and moves nothing"
stop_steps
spawn h --coloc-policy=fair,dry_run=yes
spawn i --coloc-policy=fair,dry_run=yes
is "$(cpuset_of h) $(cpuset_of i)" "0-1 0-1" "dry_run=yes touches nothing"
like "$(ctl jobs 2>&1)" 'fair' "but decides"
stop_steps

# --- several tasks, narrow steps ---
spawn two -n2 --coloc=on
spawn one -n1 --coloc=on
like "$(cpuset_of two)$(cpuset_of one)" '^(01|10)$' "a step of two tasks shares the node with another"
stop_steps

# --- what the executable links ---
chmod 755 "$tmp"
mkdir -p "$tmp/elsewhere"
# explain_linked WORD COMMAND...: sets linked, what explain says of a stencil which COMMAND starts; it has
# STENCIL in place of the program's name. A copy each time: one that could not be read in time is
# taken as unknown for a while. WORD is looked for, five times.
copies=0
explain_linked() {
  local word=$1 most=$((copies + 5))
  shift
  linked=''
  while [ "$copies" -lt "$most" ]; do
    copies=$((copies + 1))
    cp "$builddir/contrib/programs/bin/stencil" "$tmp/stencil$copies" || break
    (cd "$tmp" && exec "${@//STENCIL/stencil$copies}" --work=1000000) >/dev/null 2>&1 &
    started_pids+=("$!")
    placed() { ctl --json jobs | grep -q "stencil$copies\""; }
    wait_for 20 placed
    linked=$(ctl explain "$(job_id linked)" 2>&1)
    scancel -n linked
    wait_for 20 job_gone linked
    grep -q "$word" <<<"$linked" && break
  done
}
explain_linked 'links libgomp' srun -J linked --coloc=on "$tmp/STENCIL"
like "$linked" 'KMP_BLOCKTIME: the program links libgomp' \
  "what only LLVM's runtime reads is left out for a program of GNU's, and explain says so"
like "$linked" 'GOMP_SPINCOUNT=1000' "what it reads is set"
explain_linked 'links libgomp' srun -J linked --coloc=on ./STENCIL
like "$linked" 'links libgomp' "a program that is named from where srun is called is read, too"
explain_linked 'links libgomp' env "PATH=$tmp/elsewhere:$tmp:$PATH" srun -J linked --coloc=on STENCIL
like "$linked" 'links libgomp' "and one that is searched for in PATH"
cat >"$tmp/inner.sh" <<'X'
#!/bin/bash
cd "$1" && shift && srun "./$@"
X
explain_linked 'links libgomp' sbatch -J linked -D / -o /dev/null --coloc=on "$tmp/inner.sh" "$tmp" STENCIL
like "$linked" 'links libgomp' "and by a batch script that has gone there"
# What is there by that name is another program.
cp "$(command -v sleep)" "$tmp/elsewhere/app"
cp "$builddir/contrib/programs/bin/stencil" "$tmp/app"
(cd "$tmp" && exec srun -J linked --coloc=on -D "$tmp/elsewhere" ./app 600) >/dev/null 2>&1 &
started_pids+=("$!")
placed() { ctl --json jobs | grep -q '"app"'; }
wait_for 20 placed
linked=$(ctl explain "$(job_id linked)" 2>&1)
unlike "$linked" 'links libgomp' "where the step runs elsewhere, no file here is taken for it"
like "$linked" 'KMP_BLOCKTIME=1' "and what a program that is not known gets is set"
stop_steps
is "$(cd "$tmp" && srun --coloc=on ./elsewhere/app 0 && srun --coloc=on env | grep -c COLOC_SRUN_CWD)" 0 \
  "no step sees where srun was called"

# --- batch jobs and inner steps ---
cat >"$tmp/batch.sh" <<'X'
#!/bin/bash
echo "shell OMP=${OMP_NUM_THREADS-unset} GOMP=${GOMP_SPINCOUNT-unset}"
srun bash -c 'echo "inner OMP=${OMP_NUM_THREADS-unset} GOMP=${GOMP_SPINCOUNT-unset} set=$COLOC_LAUNCH_ENV"'
X
sbatch_wait --coloc-policy=fair "$tmp/batch.sh"
like "$out" 'shell OMP=unset GOMP=unset' "a batch shell gets no launch environment"
like "$out" 'inner OMP=[12] GOMP=1000 set=.*GOMP_SPINCOUNT' "an inner srun inherits --coloc-policy"
spawn own --coloc=on --export=ALL,OMP_WAIT_POLICY=active
unlike "$(tr '\0' '\n' <"/proc/$(pgrep -f 'sleep 600' | head -1)/environ")" GOMP_SPINCOUNT \
  "one variable of the user's keeps the family off"
stop_steps

# --- all is accounted ---
like "$(acct -P -n -o JobName,Policy,State)" '^a\|fair\|' "steps are in the accounting"
is "$(ctl --json status | tr -d ' \n' | sed 's/.*"ledger_rows":\([0-9]*\).*/\1/')" 0 \
  "the ledger is empty at the end"
done_testing
