#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The example programs end in one line with what they did, and refuse what they do not know.
bin=${COLOC_BUILDDIR:-.}/contrib/programs/bin
failed=0

not_ok() {
  echo "not ok: $*"
  failed=1
}

for name in spin cachehog pagerank stencil bursty; do
  out=$("$bin/$name" --work=1) || not_ok "$name --work=1: exit status $?"
  case $out in
  "program=$name seconds="[0-9]*" work=1 rate="*) ;;
  *) not_ok "$name --work=1 ends in '$out'" ;;
  esac
  "$bin/$name" --help | grep -q -e '--work' || not_ok "$name --help does not tell of --work"
  for bad in --work=0 --work=x --work= --wor=1 --work --works=1 1; do
    err=$("$bin/$name" "$bad" 2>&1 >/dev/null)
    rc=$?
    [ $rc -eq 2 ] || not_ok "$name $bad: exit status $rc"
    case $err in
    *"$name: "*) ;;
    *) not_ok "$name $bad says '$err'" ;;
    esac
  done
done
# The same work has the same result, however many threads do it.
for name in pagerank stencil; do
  one=$(OMP_NUM_THREADS=1 "$bin/$name" --work=2 --size=12)
  two=$(OMP_NUM_THREADS=2 "$bin/$name" --work=2 --size=12)
  [ "${one##*check=}" = "${two##*check=}" ] || not_ok "$name: '$one' and '$two' differ"
done
# dag: all seven schedulers run the graph; refusals.
out=$("$bin/dag" --tasks=60 --rounds=1 --hit=none) || not_ok "dag: exit status $?"
[ "$(echo "$out" | grep -c '"policy"')" = 7 ] || not_ok "dag prints '$out'"
for bad in --tasks=0 --kernel=none --hit=x 1; do
  rc=0
  "$bin/dag" "$bad" >/dev/null 2>&1 || rc=$?
  [ $rc -eq 2 ] || not_ok "dag $bad: exit status $rc"
done
# It keeps to its mask, and to what a service grants.
small="--tasks=60 --rounds=1 --hit=none"
first=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
# shellcheck disable=SC2086
case $(taskset -c "$first" "$bin/dag" $small) in
*'"cores": 1,'*) ;;
*) not_ok "dag bound to CPU $first uses others" ;;
esac
granter=${COLOC_BUILDDIR:-.}/tests/unit/omp_granter
if [ -x "$granter" ]; then
  # shellcheck disable=SC2086
  out=$("$granter" 1 '' "$bin/dag" $small)
  rc=$?
  case $rc:$out in
  0:*'"cores": 1,'* | 75:*) ;;
  *) not_ok "dag with a grant of one core: exit status $rc, '$out'" ;;
  esac
fi
[ $failed -eq 0 ] && echo "ok"
exit $failed
