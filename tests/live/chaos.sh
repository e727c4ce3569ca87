#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# chaos.sh - a slice of the campaign of faults; COLOC_CHAOS_FAULTS=1000 is all of it (runtests --full).
set -uo pipefail
faults=${COLOC_CHAOS_FAULTS:-25} n=0
table=$(mktemp)
trap 'rm -f "$table"' EXIT
"$(dirname "$0")/../chaos/chaos" --seed="${COLOC_CHAOS_SEED:-1}" --faults="$faults" | tee "$table"
rc=$?
[ $rc != 77 ] || exit 77

sum=$(tail -n1 "$table")
says() { # REGEX NAME: what the campaign's last line says
  n=$((n + 1))
  if [[ $sum =~ $1 ]]; then
    echo "ok $n - $2"
  else
    echo "not ok $n - $2"
    echo "#   in: $sum"
    [ $rc != 0 ] || rc=1
  fi
}
says "^chaos: $faults faults, [1-9][0-9]* jobs, " "$faults faults while jobs come and go"
says ' 0 failed,' "no job ends otherwise than it would have"
says ' 0 leftovers,' "nothing stays changed"
says ' 0 records lost' "no acknowledged record is lost"
echo "1..$n"
exit $rc
