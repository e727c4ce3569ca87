#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check-help.sh - of colocd, colocctl, colocacct and colocsim: each long option that the program
# takes stands in its --help and in its manual page, and --help and the page name none that it does
# not take. Options of srun, keys of coloc.yaml and of plugstack.conf: tests/check-docs.sh.
# shellcheck disable=SC2016 # backquotes are what the pages have
set -euo pipefail

top=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
bin=$(cd "${COLOC_BUILDDIR:-$top/build}" && pwd)/nodesvc
cd "$top"
failed=0 compared=0

fail() {
  echo "check-help: $*" >&2
  failed=1
}

# taken FILE...: the names in struct option tables, and in colocsim's table of numbers.
taken() { sed -nE 's/.*\{"([a-z0-9-]+)", *(no_argument|(required|optional)_argument|offsetof).*/--\1/p' "$@" | sort -u; }
named() { { grep -oE -- '(^|[^A-Za-z0-9-])--[a-z][a-z0-9-]+' || :; } | sed 's/^[^-]//' | sort -u; }
plain() { sed -e 's/\\-/-/g' -e 's/\\f[BIRP]//g'; }
# section PAGE HEADING: its lines, and those of sections "HEADING ..." (profile list, ...).
section() {
  plain <"$1" | awk -v heading="$2" '
    /^\.S[SH] / { on = (substr($0, 5) " ") ~ "(^|, )" heading "[ ,[]" }
    on'
}

# within SUBSET SET WHAT
within() {
  local missing
  missing=$(comm -23 <(echo "$1") <(echo "$2") | sed '/^$/d' | paste -sd' ')
  compared=$((compared + 1))
  [ -z "$missing" ] || fail "$3: $missing"
}

# Found here, or nothing would be compared.
some() { [ "$(wc -l <<<"$1")" -ge "$2" ] || fail "found only '$1' in $3"; }

# --- a test that finds nothing would pass for ever ---
if (within $'--a\n--b' --b x) 2>/dev/null && [ "$(within $'--a\n--b' --b x 2>&1)" = '' ]; then
  fail "a missing option is not noticed"
fi

# --- which release it is ---
version=$(sed -n 's/^AC_INIT(\[coloc\], \[\([^]]*\)\].*/\1/p' configure.ac)
for program in colocd colocctl colocacct colocsim; do
  [[ "$("$bin/$program" --version)" == *" $version" ]] || fail "$program --version does not say $version"
done

# --- one command each ---
colocd=$(taken nodesvc/daemon/main.c)
some "$colocd" 5 nodesvc/daemon/main.c
help=$("$bin/colocd" --help | named)
within "$colocd" "$help" "colocd --help does not name"
within "$help" "$colocd" "colocd --help names what colocd does not take"
within "$colocd" "$(plain <nodesvc/colocd.8 | named)" "colocd.8 does not name"

# What means nothing here is refused with its reason, or taken for sacct's sake; the page has both.
acct=$(taken nodesvc/report/acct_opts.c)
some "$acct" 40 nodesvc/report/acct_opts.c
refused=$(sed -nE 's/^\t\{"(-., )?(--[a-z-]+)", ".*/\2/p' nodesvc/report/acct_opts.c | sort -u)
silent=$(printf '%s\n' --array --group --use-local-uid | sort)
help=$("$bin/colocacct" --help | named)
within "$(comm -23 <(echo "$acct") <(printf '%s\n' "$refused" "$silent" | sort))" "$help" "colocacct --help does not name"
within "$help" "$acct" "colocacct --help names what colocacct does not take"
within "$(comm -23 <(echo "$acct") <(printf '%s\n' "$refused" --group | sort))" "$(plain <nodesvc/report/colocacct.1 | named)" "colocacct.1 does not name"

# --- by command ---
global=$(taken nodesvc/ctl/ctl.c)
some "$global" 4 nodesvc/ctl/ctl.c
help=$("$bin/colocctl" --help | named)
within "$global" "$help" "colocctl --help does not name"
within "$help" "$(printf '%s\n' "$global" --version | sort)" "colocctl --help names what it does not take"
within "$global" "$(section nodesvc/ctl/colocctl.1 OPTIONS | named)" "colocctl.1 does not name"
commands=$("$bin/colocctl" --help | sed -nE 's/^  ([a-z]+)  .*/\1/p')
some "$commands" 15 "colocctl --help"
for c in $commands; do
  file=nodesvc/ctl/cmd_$c.c
  [ "$c" != profile ] || file=nodesvc/ctl/profile.c
  [ -e "$file" ] || file=nodesvc/ctl/colocctl.c # a row there: no option of its own
  text=$(section nodesvc/ctl/colocctl.1 "$c")
  [ -n "$text" ] || fail "colocctl.1 has no section on '$c'"
  own=$(taken "$file")
  help=$("$bin/colocctl" "$c" --help | named)
  within "$own" "$help" "colocctl $c --help does not name"
  within "$help" "$own" "colocctl $c --help names what it does not take"
  within "$own" "$(named <<<"$text")" "colocctl.1, $c, does not name"
done

commands=$("$bin/colocsim" --help | sed -nE 's/^  ([a-z]+)  .*/\1/p')
some "$commands" 4 "colocsim --help"
for c in $commands; do
  own=$(taken "nodesvc/sim/${c}_cmd.c" | grep -vx -e --help)
  some "$own" 2 "nodesvc/sim/${c}_cmd.c"
  text=$(section nodesvc/sim/colocsim.1 "${c^^}"; section nodesvc/sim/colocsim.1 SYNOPSIS
    section nodesvc/sim/colocsim.1 "Policies of your own")
  # Of another command, also of colocctl, it may speak.
  help=$("$bin/colocsim" "$c" --help | sed -E 's/coloc(sim|ctl) [a-z]+ --[a-z-]+//' | named)
  within "$own" "$help" "colocsim $c --help does not name"
  within "$help" "$own" "colocsim $c --help names what it does not take"
  within "$own" "$(named <<<"$text")" "colocsim.1, $c, does not name"
done

# --- the pages of doc/, by their commands ---
all=$({ taken nodesvc/daemon/main.c nodesvc/report/acct_opts.c nodesvc/ctl/*.c nodesvc/sim/*.c
  sed -nE 's/.*\] = \{ *"(coloc[a-z-]*)".*/--\1/p' spank/opts.c; } | sort -u)
for page in README.md doc/*.md; do
  told=$({ grep -oE '`coloc(ctl|acct|sim|d)[^`]*`' "$page" || :; } | named)
  within "$told" "$(printf '%s\n' "$all" --version | sort -u)" "$page: no program takes"
  told=$(grep -oE -- '--coloc[a-z-]*' "$page" | sort -u || :)
  within "$told" "$all" "$page: srun has no"
  told=$(grep -oE '`colocctl [a-z]+' "$page" | sed 's/.* //' | sort -u || :)
  within "$told" "$("$bin/colocctl" --help | sed -nE 's/^  ([a-z]+)  .*/\1/p' | sort)" "$page: colocctl has no command"
done
fields=$("$bin/colocacct" --helpformat | awk '{ print $1 }' | sort)
some "$fields" 40 "colocacct --helpformat"
within "$fields" "$(plain <nodesvc/report/colocacct.1 | grep -oE '[A-Za-z]+' | sort -u)" "colocacct.1 does not name the field"
told=$(grep -ohE 'colocacct [^`]*-o [A-Za-z,]+' README.md doc/*.md | sed 's/.*-o //' | tr , '\n' | sort -u)
some "$told" 10 "the pages of doc/"
within "$told" "$fields" "colocacct has no field"
[ "$failed" != 0 ] || echo "check-help: $compared lists of options agree"
exit "$failed"
