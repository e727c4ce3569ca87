#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# saved-view.sh - what a node decided is decided again from what it saved: every decision that
# `colocctl explain` lists, under each policy, with a restart of the service and with envelope: node.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
sim=$builddir/nodesvc/colocsim
start_spine 'policy: fair' 'min_dwell_s: 0' 'tick_ms: 100' 'interval_ms: 100' 'fast_cores: "0"'


# Rates of two programs, so that the policies which need them decide themselves.
for t in "hot 9e8 5e6 2e6" "cold 1e8 1e5 1e4"; do
  read -r type loads refs misses <<<"$t"
  for threads in 1 2; do
    printf '{"schema":1,"type":"%s","user":"root","node_type":"","source":"cachegrind","threads":%s,"solo_s":1,"utilization":1,"signals":{"instructions_per_s":2e9,"loads_per_s":%s,"llc_refs_per_s":%s,"llc_misses_per_s":%s},"ll_bytes":1048576,"count":1}\n' \
      "$type" $threads "$loads" "$refs" "$misses" >>"$tmp/profiles"
  done
done
ok "profiles of two programs" ctl profile import "$tmp/profiles"

# listed STEP: "NUMBER CORESET" of each decision of a step, newest first.
listed() {
  ctl --json explain "$1" | tr -d ' \n' |
    grep -oE '"decision":[0-9]+,"t_unix":[^}]*"to":("[0-9,-]*"|null)' |
    sed -E 's/"decision":([0-9]+),.*"to":("([0-9,-]*)"|null)$/\1 \3/'
}
planned() { tr -d ' \n' <"$1" | grep -oE "\"id\":\"$2\",[^{}]*\"coreset\":\"[0-9,-]*\"" | sed 's/.*"\([0-9,-]*\)"$/\1/'; }

# again NAME STEP...: all decisions of the steps, and the last one of all, are the same again.
again() {
  local what=$1 step n to last worked=0 bad=''
  shift
  for step; do
    while read -r n to; do
      if ! ctl explain "$step" --save-view="$n" >"$tmp/view" 2>"$tmp/err"; then
        bad="$bad $step#$n: $(cat "$tmp/err")"
      elif ! "$sim" plan "$tmp/view" >"$tmp/plan" 2>"$tmp/err"; then
        bad="$bad $step#$n: $(cat "$tmp/err")"
      elif [ "$(planned "$tmp/plan" "$step")" != "$to" ]; then
        bad="$bad $step#$n: $(planned "$tmp/plan" "$step") instead of $to"
      else
        worked=$((worked + 1))
      fi
    done < <(listed "$step")
  done
  ctl explain "$1" --save-view >"$tmp/view" 2>"$tmp/err" || bad="$bad last: $(cat "$tmp/err")"
  "$sim" plan "$tmp/view" >"$tmp/plan" 2>"$tmp/err" || bad="$bad last: $(cat "$tmp/err")"
  last=$("$sim" replay "$tmp/view" 2>&1 | head -1)
  [ "$worked" -ge $# ] || bad="$bad only $worked decisions"
  verdict "$([ -z "$bad" ]; echo $?)" "$what: $worked decisions of $# steps again, and ${last#replay: }" "$bad"
}
ids() { for j; do echo "$(job_id "$j").0"; done; }

# --- each policy ---
by_fallback=''
for policy in fair spread callisto lira lira-static llc-complex dio sbmp sbmp-pp sbmp-cd gang das-rws \
  das-rwsm-c das-fa das-fam-c das-da das-dam-c das-dam-p mapper hillclimb; do
  # The first of a set decides who rules.
  spawn a --coloc-policy="$policy" --coloc-type=hot
  spawn b --coloc=on --coloc-type=cold
  spawn c --coloc=on --coloc-type=cold --coloc-priority=high
  end_job b
  mapfile -t steps < <(ids a c)
  again "$policy" "${steps[@]}"
  grep -q '"ruling":{"plan"' "$tmp/view" || by_fallback="$by_fallback $policy"
  stop_steps
done

diag "refused throughout, by the fallback:${by_fallback:- none}"

# --- none: it decides nothing, and that again ---
spawn a --coloc-policy=none
ctl explain "$(job_id a).0" --save-view >"$tmp/view" 2>"$tmp/err"
ok "none: it decides nothing, and that again" "$sim" replay "$tmp/view"
stop_steps

# --- a restart: what is kept begins with it ---
spawn a --coloc-policy=lira
spawn b --coloc=on
# Registered by now: what is not yet is not adopted.
decisions() { ctl --json status | tr -d ' \n' | sed 's/.*"decisions":\([0-9]*\).*/\1/'; }
later() { [ "$(decisions)" -ge "$((before + 5))" ]; }
before=$(decisions)
wait_for 10 later
stop "$colocd_pid" KILL
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
adopted() { [ "$(ctl jobs | grep -c placed)" = 2 ]; }
ok "a restarted service adopts them" wait_for 10 adopted
spawn c --coloc=on
mapfile -t steps < <(ids a b c)
again "after kill -9" "${steps[@]}"

# --- what is not there is told ---
run ctl explain "${steps[0]}" --save-view=999999
is "$rc" 1 "a decision that is not kept: exit 1"
like "$err" 'decision 999999 is not kept: [0-9]+ to [0-9]+ are' "and which are"
run ctl explain "${steps[0]}" --save-view=x
is "$rc" 2 "no number: exit 2"
ctl explain "${steps[0]}" --save-view >"$tmp/view"
sed 's/"coreset":"0"/"coreset":"0-1"/; s/"coreset":"1"/"coreset":"0-1"/' "$tmp/view" >"$tmp/forged"
run "$sim" plan "$tmp/forged"
is "$rc" 1 "a plan that is not the recorded one: exit 1"
run "$sim" plan --policy=spread "$tmp/view"
like "$out" '"policy": "spread"' "another policy may be asked instead"
stop_steps
stop "$colocd_pid"

# --- envelope: node ---
# shellcheck disable=SC2034 # start_spine's
spine_cluster=(--select cons_tres)
start_spine 'policy: lira' 'envelope: node' 'min_dwell_s: 0' 'tick_ms: 100' 'interval_ms: 100'
for j in a b c; do spawn $j -n1 -c1 --coloc=on; done
mapfile -t steps < <(ids a b c)
again "envelope: node" "${steps[@]}"
ctl explain "${steps[0]}" --save-view >"$tmp/view"
envelopes=$(grep -oE '"envelope":"[0-9,-]*"' "$tmp/view" | sort -u | paste -sd' ')
like "$envelopes" '"0-1"|"0-[0-9]+"' "with views whose envelopes are the node's ($envelopes)"
stop_steps
stop "$colocd_pid"
done_testing
