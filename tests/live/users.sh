#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# users.sh - restore.sh, lend.sh and polling.sh once more: the steps are an ordinary user's, and
# colocd has no more than the capabilities of its systemd unit.
. "$(dirname "$0")/lib.sh"
need ROOT SLURM PLUGIN COLOCD
unit=$srcdir/etc/colocd.service.in
caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr 'A-Z ' 'a-z\n' | sed -n 's/^cap_/+/p' | paste -sd,)
diag "colocd has $caps"
is "$(grep -c , <<<"$caps")" 1 "the unit names its capabilities"
export COLOC_LIVE_UID=${COLOC_LIVE_UID:-65534}
export COLOCD_RUN="setpriv --bounding-set=-all,$caps --inh-caps=-all"

for test in restore lend polling; do
  rc=0
  "$srcdir/tests/live/$test.sh" >"$tmp/$test.out" 2>&1 || rc=$?
  if [ "$rc" = 77 ]; then
    diag "$test.sh: $(tail -1 "$tmp/$test.out")"
    continue
  fi
  verdict $((rc != 0)) "$test.sh: $(grep -c '^ok' "$tmp/$test.out") checks, steps of uid $COLOC_LIVE_UID" \
    "$(grep -A6 -E '^(not ok|Bail)' "$tmp/$test.out" | head -40)"
done
done_testing
