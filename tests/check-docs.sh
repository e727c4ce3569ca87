#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check-docs.sh - the manual pages name what the sources have: every key of coloc.yaml with its
# range, default and reload column, every option of srun with its variable, every key of
# plugstack.conf, every option of colocd, every launch variable. And one version
# stands everywhere, make's targets are listed, each message is in doc/troubleshooting.md, links between pages lead somewhere, and the table
# of what ran with which Slurm is made of the results beside it.
set -eu

top=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
failed=0
pages='doc/coloc.7 nodesvc/coloc.yaml.5 nodesvc/colocd.8 nodesvc/ctl/colocctl.1
  nodesvc/report/colocacct.1 nodesvc/runtime/libcoloc.3 nodesvc/sim/colocsim.1 nodesvc/tasks/libcoloc_tasks.3
  spank/spank_coloc.8'

# The page's text without roff's escapes.
plain() { sed -e 's/\\-/-/g' -e 's/\\f[BIRP]//g' "$top/$1"; }

# have PAGE KIND: does PAGE name each line of standard input, as a whole word?
have() {
  text=$(plain "$1")
  n=0
  rc=0
  while IFS= read -r word; do
    n=$((n + 1))
    printf '%s\n' "$text" | grep -Eq -- "(^|[^A-Za-z0-9_-])$word([^A-Za-z0-9_-]|\$)" || {
      echo "check-docs: $1 does not name $2 $word" >&2
      rc=1
    }
  done
  # A pattern that finds nothing would pass for ever.
  [ "$n" -gt 0 ] || echo "check-docs: no $2 found in the sources" >&2
  [ "$n" -gt 0 ] && return "$rc"
}

# coloc.yaml(5): a row "key@type@default@reload" for each row of conf_keys.def, and no others.
# The shipped coloc.yaml has the defaults (tests/unit/test_conf.c compares it with the code).
check_keys() {
  awk '
    function bad(text) { print "check-docs: coloc.yaml.5: " text > "/dev/stderr"; failed = 1 }
    FNR == 1 { file++ }

    # 1: etc/coloc.yaml, "#key: value" and, one level down, "#  key: value"
    file == 1 && match($0, /^#(  )?[a-z_]+:/) {
      key = substr($0, 2, RLENGTH - 2)
      value = substr($0, RLENGTH + 2)
      if (sub(/^ +/, "", key)) key = section "." key
      else section = key
      shipped[key] = value
    }

    # 2: the page
    file == 2 && /@/ && /@(yes|no)$/ {
      split($0, cell, "@")
      type[cell[1]] = cell[2]; value_of[cell[1]] = cell[3]; reload[cell[1]] = cell[4]
    }
    # Values that are too long for the table stand below, one to a paragraph.
    file == 2 && before == ".TP" && /^\.B / { below = $2 }
    { before = $0 }
    file == 2 && /^\.IP \\fB[a-z]+\\fR$/ {
      gsub(/^\.IP \\fB|\\fR$/, "")
      is_below[below, $0] = 1
    }

    # 3: conf_keys.def, "TYPE(section., field, ..., RELOAD)", one to a line
    file == 3 && /^[A-Z_]+\(/ {
      row = $0
      sub(/\/\*.*/, "", row)
      kind = row
      sub(/\(.*/, "", kind)
      if (kind ~ /^SECTION/) next
      sub(/^[A-Z_]+\( */, "", row)
      if (kind == "TEXT_OF") sub(/^[A-Z_]+, */, "", row)
      if (kind == "EVENT") row = "events., " row
      n = split(row, arg, / *, */)
      key = arg[1] arg[2]
      found++
      seen[key] = 1
      reloads[key] = row ~ /RELOAD/ ? "yes" : "no"
      if (kind == "INT" || kind == "DOUBLE") range_of[key] = arg[4] " to " arg[5]
      if (kind == "CHOICE" && match(row, /"[^"]*"/)) values_of[key] = substr(row, RSTART + 1, RLENGTH - 2)
    }

    END {
      for (key in seen) {
        if (!(key in type)) { bad("no row for " key); continue }
        if (reload[key] != reloads[key]) bad(key ": reload is " reloads[key])
        if (key in range_of && index(type[key], range_of[key] " ") != 1)
          bad(key ": the range is " range_of[key])
        n = key in values_of && type[key] != values_of[key] ? split(values_of[key], arg, "|") : 0
        if (n && type[key] != "see below") bad(key ": the values are " values_of[key])
        for (i = 1; i <= n; i++)
          if (!((key, arg[i]) in is_below)) bad(key ": the value " arg[i] " is not told")
        sub(/ \(.*/, "", value_of[key])
        if (!(key in shipped)) bad(key " is not in etc/coloc.yaml")
        else if (shipped[key] != "" && value_of[key] != "see below" &&
          shipped[key] != value_of[key])
          bad(key ": the default is " shipped[key])
      }
      for (key in type)
        if (key != "Key" && !(key in seen)) bad(key " is no key")
      if (!found) bad("no key found in conf_keys.def")
      exit failed
    }' "$top/etc/coloc.yaml" "$top/nodesvc/coloc.yaml.5" "$top/nodesvc/conf/conf_keys.def" || failed=1
}

# One semantic version, wherever it stands.
check_version() {
  rc=0
  built=$(sed -n 's/^AC_INIT(\[coloc\], \[\([^]]*\)\].*/\1/p' "$top/configure.ac")
  printf '%s\n' "$built" | grep -Eqx '(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}(-[0-9A-Za-z.-]+)?' || {
    echo "check-docs: configure.ac: '$built' is no semantic version" >&2
    return 1
  }
  while read -r page found; do
    [ "$found" = "$built" ] && continue
    echo "check-docs: $page is of version '$found', configure.ac of '$built'" >&2
    rc=1
  done <<END
CITATION.cff $(sed -n 's/^version: *//p' "$top/CITATION.cff")
NEWS.md $(sed -n 's/^## \([0-9][^ ]*\).*/\1/p' "$top/NEWS.md" | head -1)
debian/changelog $(sed -n '1s/^coloc (\([^)-]*\).*/\1/p' "$top/debian/changelog")
contrib/rpm/coloc.spec $(sed -n 's/^Version: *//p' "$top/contrib/rpm/coloc.spec")
$(for page in $pages; do
    echo "$page $(sed -n 's/^\.TH .*"coloc \([^"]*\)".*/\1/p' "$top/$page")"
  done)
END
  return "$rc"
}

# Each target that is called by name is in CONTRIBUTING.md, which `make help` prints.
targets() {
  (cd "$top" && sed -n 's/^\.PHONY: *//p' Makefile.am ./*/local.mk ./*/*/*.mk) | grep -vx help | sort -u
}

# What version 1.2.0 of the Citation File Format asks of a file and of each reference.
check_citation_form() {
  awk '
    function bad(text) { print "check-docs: CITATION.cff: " text > "/dev/stderr"; failed = 1 }
    function close_reference() {
      if (n && !(has["type"] && has["title"] && has["authors"]))
        bad("reference " n " lacks type, title or authors")
      split("", has)
    }
    /^[a-z-]+:/ { sub(/:.*/, ""); top[$0]++; inside = $0 == "references"; next }
    inside && /^  - [a-z-]+:/ { close_reference(); n++ }
    inside && /^(  - |    )[a-z-]+:/ {
      line = $0
      sub(/^(  - |    )/, "", line)
      key = line
      sub(/:.*/, "", key)
      has[key] = 1
      if (key !~ /^(type|title|authors|collection-title|journal|volume|issue|year|doi|url|start|end)$/)
        bad("line " NR ": unknown key " key)
      if (key == "doi" && line !~ /^doi: 10\.[0-9]+\/[A-Za-z0-9:\/_;.()-]+$/) bad("line " NR ": no DOI")
      if (key == "year" && line !~ /^year: [12][0-9][0-9][0-9]$/) bad("line " NR ": no year")
    }
    END {
      close_reference()
      split("cff-version message title authors license version", need, " ")
      for (i in need) if (top[need[i]] != 1) bad(need[i] " is not there once")
      if (n < 5) bad("fewer than five references")
      exit failed
    }' "$top/CITATION.cff"
}

# Links between our own pages lead to a file. A path may hold no blank and no parenthesis.
check_links() {
  rc=0
  for page in README.md CONTRIBUTING.md NEWS.md doc/*.md doc/results/*.md; do
    # shellcheck disable=SC2013
    for link in $(grep -o '](\([^)]*\))' "$page" | sed -e 's/^](//' -e 's/[)#].*//'); do
      case $link in
      *://*) continue ;;
      esac
      [ -e "$(dirname "$page")/$link" ] && continue
      echo "check-docs: $page: no file $link" >&2
      rc=1
    done
  done
  return "$rc"
}

# doc/results/*.results are what tests/run-list wrote; who changes one makes the table again.
check_results() {
  page=$top/doc/compatibility.md
  set -- "$top"/doc/results/*.results
  made=$("$top/tests/compat-table" "$@") || [ $? = 1 ] || return 1
  stands=$(sed '1,/^<!-- results: begin -->$/d; /^<!-- results: end -->$/,$d' "$page" | sed '1d')
  [ "$made" = "$stands" ] && return
  echo "check-docs: doc/compatibility.md: its table is not that of doc/results:" \
    "tests/compat-table --write doc/compatibility.md doc/results/*.results" >&2
  return 1
}

# Each message that an administrator or a user may see is in doc/troubleshooting.md, by its text.
check_messages() {
  command -v python3 >/dev/null || return 0
  found=$(COLOC_SRCDIR=$top python3 "$top/tests/check-messages.py") && return
  printf '%s\n' "$found" >&2
  echo "check-docs: a row for each: tests/check-messages.py --list prints them" >&2
  return 1
}

# The card has each option of srun, fits on a page, and names commands that there are.
check_card() {
  sed -n 's/.*\] = { *"\(coloc[a-z-]*\)".*/--\1/p' "$top/spank/opts.c" | have doc/card.md option || return 1
  # shellcheck disable=SC2013
  for command in $(grep -o '`colocctl [a-z]*' "$top/doc/card.md" | sed 's/.* //' | sort -u); do
    grep -Eq "(name = |ASKS\\(|CHANGES\\(|\\()\"$command\"" "$top"/nodesvc/ctl/c*.c || {
      echo "check-docs: doc/card.md: colocctl has no $command" >&2
      return 1
    }
  done
  command -v python3 >/dev/null || return 0
  python3 "$top/contrib/card-pdf" "$top/doc/card.md" >/dev/null
}

# Each key of coloc.yaml(5) says when to change it.
check_when() {
  awk '
    /^\.SH/ { keys = $2 == "KEYS" }
    /^\.(TP|SS|SH)/ || (keys && /^\.PP/) {
      if (key != "" && !when) { print "check-docs: coloc.yaml.5: " key ": when to change it?" > "/dev/stderr"; bad = 1 }
      key = ""
      wants = keys && /^\.TP/
      next
    }
    wants { wants = 0; if ($2 ~ /^[a-z]/) { key = $2; when = 0; n++ } }
    /^Change it / { when = 1 }
    END { exit bad || n < 40 }' "$top/nodesvc/coloc.yaml.5"
}

# Pages are for readers: lengths, words before they are said, links (contrib/lint-pages has the bounds).
check_pages() {
  command -v python3 >/dev/null || return 0
  found=$(python3 "$top/contrib/lint-pages") && return
  printf '%s\n' "$found" >&2
  return 1
}

# doc/policies.md: each policy of a paper has a row, and each cell of it says "exact" or leads to what is
# stated (contrib/lint-pages looks whether the heading is there).
check_exact() {
  awk -F'|' '
    function bad(text) { print "check-docs: doc/policies.md: " text > "/dev/stderr"; failed = 1 }
    FNR == 1 { file++ }
    file == 1 && match($0, /"(callisto|lira|llc-complex|sbmp|das|mapper)[^"]*"/) { need[substr($0, RSTART + 1, RLENGTH - 2)] }
    file == 2 && /^## / { inside = /^## What of the papers is exact$/ }
    inside && /^\|/ && !/^\|(---| system )/ {
      n = split($3, name, /`/)
      for (i = 2; i <= n; i += 2) { sub(/,.*/, "", name[i]); row[name[i]] = 1 }
      for (i = 4; i <= 6; i++)
        if ($i !~ /^ exact $/ && $i !~ /^ \[stated\]\([^)]*#[^)]+\)(: [^|]+)? $/) bad($2 ":" $i "is neither exact nor stated")
      if (NF != 7) bad($2 ": five columns expected")
    }
    END {
      for (p in need) { found++; if (!(p in row)) bad("no row says what of " p " is exact") }
      if (found < 10) bad("no policies in registry.def")
      exit failed
    }' "$top/nodesvc/engine/registry.def" "$top/doc/policies.md"
}

# The tables of doc/evaluation.md are those of the benches' data.
check_evaluation() {
  command -v python3 >/dev/null || return 0
  python3 "$top/contrib/bench/evaluation" --check >&2
}

check_keys
check_pages || failed=1
check_card || failed=1
check_when || failed=1
check_evaluation || failed=1
check_exact || failed=1
check_messages || failed=1
check_results || failed=1
check_citation_form || failed=1
check_version || failed=1
targets | sed 's/^/make /' | have CONTRIBUTING.md target || failed=1
(cd "$top" && check_links) || failed=1
sed -n 's/.*\] = { *"\(coloc[a-z-]*\)".*/--\1/p' "$top/spank/opts.c" |
  have doc/coloc.7 option || failed=1
grep -o '"COLOC[A-Z_]*"' "$top/spank/opts.c" | tr -d '"' |
  have doc/coloc.7 variable || failed=1
sed -n 's/.*LAUNCH_VAR([a-z_]*, "\([A-Z_a-z]*\)").*/\1/p' "$top/common/launch_names.h" |
  have doc/coloc.7 'launch variable' || failed=1
sed -n 's/^	{ *"\([a-z_]*\)", set_.*/\1=/p' "$top/spank/args.c" |
  have spank/spank_coloc.8 key || failed=1
sed -n 's/.*{ *"\([a-z-]*\)", [a-z]*_argument, NULL.*/--\1/p' "$top/nodesvc/daemon/main.c" |
  have nodesvc/colocd.8 option || failed=1
exit "$failed"
