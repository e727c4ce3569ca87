# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# blocks.sh - the blocks of README.md, CONTRIBUTING.md, doc/ and the manual pages as tests. It finds
# them, runs their commands, and compares what comes out with what the page shows; tests/
# check-blocks.sh and tests/live/pages*.sh say where. How a block is annotated: CONTRIBUTING.md.
#
# Each block of a page (``` or ~~~ in Markdown, .EX in a manual page) has an annotation before it
# that a reader does not see:
#
#   <!-- run: KIND [WORD...]                   .\" run: KIND [WORD...]
#     command that prepares, not shown         .\"   command that prepares, not shown
#   -->
#
# KIND      where the commands are run
#   host        anywhere: the built programs are on PATH, the directory is empty
#   node        a node of a private Slurm with colocd and the plugin; all such blocks of one page
#               are one session, in a directory with the example programs
#   conf        no commands: a coloc.yaml that colocd takes, which a session on a node reloads
#   plugstack   no commands: lines of plugstack.conf with which srun runs
#   build       a copy of the source tree
#   root        a throw-away copy of this machine's root, as its administrator
#   quickstart  lines that contrib/quickstart prints
#   by FILE...  another test runs it: each command stands in one of these files; for a block that
#               is no shell, each file names the page
#   text WHY    no commands: a picture, a table, a template
# WORD      full: of host, takes long, only with `contrib/runtests --full'; sorted: lines in any
#           order; status=N: the last command ends so
#
# Commands stand behind "$ ", what follows up to the next one is what they print; a block with no
# "$ " is all commands. A command that shows no output prints nothing, or, where the whole block
# shows none, what it likes. Every command ends with status 0.
#
# What is printed and what is shown are the same when their words are. Numbers match numbers, so do
# dates, times, lists of CPUs and numbers with k, M, G or %; any number of blanks matches blanks, and of dashes that underline a heading dashes. A
# line "..." stands for any lines, " ..." at the end of a line for its rest.

# Sources of blocks, relative to the source tree.
# shellcheck disable=SC2034 # for the tests
blocks_pages=(README.md CONTRIBUTING.md NEWS.md doc/*.md)
# shellcheck disable=SC2034
blocks_manuals=(doc/*.[1-8] spank/*.[1-8] nodesvc/*.[1-8] nodesvc/*/*.[1-8])
# sed expressions over what is printed: the private paths of a test as they are on a site.
blocks_subst=()
# Where not "": shown output is not compared, for this reason.
blocks_uncompared=''

# blocks_find DIR PAGE...: DIR/N.body and DIR/N.setup for each block, DIR/index with lines of
# "N page:line language kind words". Status 1: a block has no annotation, or a wrong one.
blocks_find() {
  local dir=$1 page bad=0
  shift
  : >"$dir/index"
  for page; do
    case $page in
    *.[1-8]) blocks_of_manual ;;
    *) blocks_of_markdown ;;
    esac <"$page" >"$dir/page" || return 1
    awk -v dir="$dir" -v page="$page" -v n="$(wc -l <"$dir/index")" '
      function start_of(text) { n++; body = dir "/" n ".body"; setup = dir "/" n ".setup"
        printf "" >body; printf "" >setup
        print n, page ":" text >>(dir "/index") }
      { word = $1; text = $0; sub(/^[a-z]+ ?/, "", text) }
      word == "block" { start_of(text) }
      word == "setup" { print text >setup }
      word == "line" { print text >body }
      word == "end" { close(body); close(setup) }
      word == "wrong" { print page ":" text >"/dev/stderr"; bad = 1 }
      END { exit bad }' "$dir/page" || bad=1
  done
  return "$bad"
}

# Both print: "block LINE LANGUAGE KIND WORDS", "setup ...", "line ...", "end", "wrong LINE: ...".
blocks_of_markdown() {
  awk '
    function annotation(text) { sub(/^ *<!-- run: */, "", text); sub(/ *-->.*/, "", text); return text }
    fence != "" && match($0, "^ *" fence " *$") { print "end"; fence = ""; next }
    fence != "" { sub("^" indent, ""); print "line " $0; next }
    /^ *(```+|~~~+)/ {
      fence = $1; sub(/[^`~].*/, "", fence)
      match($0, /^ */); indent = substr($0, 1, RLENGTH)
      language = $0; sub(/^ *[`~]+ */, "", language)
      if (language == "") language = "-"
      if (kind == "") print "wrong " NR ": this block has no annotation: <!-- run: ... -->"
      print "block " NR " " language " " kind
      printf "%s", prepare
      kind = prepare = ""
      next
    }
    inside && /-->/ { inside = 0; next }
    inside { sub(/^ */, ""); prepare = prepare "setup " $0 "\n"; next }
    /^ *<!-- run:/ {
      if (kind != "") print "wrong " NR ": the annotation before this one has no block"
      kind = annotation($0); prepare = ""; inside = !/-->/; next }
    /^ *$/ { next }
    # Text in between: the annotation belongs to no block.
    kind != "" { print "wrong " NR ": an annotation stands just before its block"; kind = prepare = "" }
    END { if (fence != "") print "wrong " NR ": this block has no end" }'
}
blocks_of_manual() {
  awk '
    function plain(text) {
      gsub(/\\-/, "-", text); gsub(/\\\(aq/, "\047", text); gsub(/\\\(dq/, "\"", text)
      gsub(/\\f[BIRP]|\\&/, "", text); gsub(/\\e/, "\\", text); return text }
    /^\.EE/ { if (inside) print "end"; inside = 0; next }
    inside && /^\./ { next }
    inside { print "line " plain($0); next }
    /^\.EX/ {
      if (kind == "") print "wrong " NR ": this block has no annotation: .\\\" run: ..."
      print "block " NR " man " kind
      printf "%s", prepare
      kind = prepare = ""; inside = 1; next }
    /^\.\\" run:/ { kind = plain($0); sub(/^\.\\" run: */, "", kind); prepare = ""; next }
    kind != "" && /^\.\\"   / { prepare = prepare "setup " plain(substr($0, 7)) "\n"; next }
    /^\.SH/ { examples = $2 ~ /^EXAMPLE/ }
    examples && /^\.nf/ { print "wrong " NR ": an example stands between .EX and .EE" }'
}

# blocks_field DIR N: sets block_where, block_language, block_kind, block_words.
blocks_field() {
  # shellcheck disable=SC2034 # for the tests
  read -r _ block_where block_language block_kind block_words < <(sed -n "$2p" "$1/index")
}
blocks_has() { [[ " $1 " == *" $2 "* ]]; }

# blocks_split BODY OUT: OUT.K.cmd and OUT.K.want for the K-th command; prints how many. Where there
# is no "$ ", each line is a command; a backslash at the end goes on.
blocks_split() {
  awk -v out="$2" '
    NR == FNR { if (/^\$ /) prompts = 1; if (!/^\$ / && !/\\$/ && !goes_on) other = 1; goes_on = /\\$/; next }
    FNR == 1 { goes_on = 0 }
    goes_on { print >cmd; goes_on = /\\$/; next }
    !prompts && /^ *(#.*)?$/ { next }
    !prompts || /^\$ / {
      n++; cmd = out "." n ".cmd"; want = out "." n ".want"
      printf "" >want
      if (prompts) $0 = substr($0, 3)
      print >cmd; goes_on = /\\$/; next }
    n { print >want }
    END { print n + 0 }' "$1" "$1"
}

# What is compared: without what changes from run to run.
blocks_shape() {
  sed -E -e 's/[[:space:]]+/ /g; s/^ //; s/ $//' -e 's/(^|[ (|=])-([0-9])/\1\2/g' \
    -e 's/[0-9]+([.,:\/-][0-9]+)*/#/g' -e 's/#T#/#/g' -e 's/(^| )-+( |$)/\1-\2/g; s/(^| )-+( |$)/\1-\2/g' \
    -e 's/#([kMGT%])([^A-Za-z0-9]|$)/#\2/g'
}

# blocks_same WANT GOT [sorted]: prints where they differ; status 1 then.
blocks_same() {
  blocks_shape <"$1" | if [ -n "${3:-}" ]; then sort; else cat; fi >"$2.want"
  blocks_shape <"$2" | if [ -n "${3:-}" ]; then sort; else cat; fi >"$2.got"
  awk '
    function line_fits(shown, printed) {
      if (shown == printed) return 1
      if (shown !~ / \.\.\.$/) return 0
      sub(/\.\.\.$/, "", shown)
      return index(printed " ", shown) == 1
    }
    function fits(w, g) {
      for (; w <= nw; w++) {
        if (want[w] == "...") {
          for (; g <= ng + 1; g++) if (fits(w + 1, g)) return 1
          return 0
        }
        if (g > ng || !line_fits(want[w], got[g])) {
          if (g > far) { far = g; far_want = want[w] }
          return 0
        }
        g++
      }
      if (g > ng) return 1
      if (g > far) { far = g; far_want = "(the end)" }
      return 0
    }
    FILENAME == ARGV[1] { want[++nw] = $0; next } # not NR == FNR: it may be empty
    { got[++ng] = $0 }
    END {
      if (fits(1, 1)) exit 0
      print "shown:   " far_want
      print "printed: " (far > ng ? "(the end)" : got[far])
      exit 1
    }' "$2.want" "$2.got"
}

# Commands that only ask, whose answer settles: a reader types slower than a test.
blocks_asks() {
  [[ $1 =~ ^(colocctl\ ((--json|-[a-z-]+)\ )*(check|counters|explain|jobs|ping|policies|status|profile\ (list|show))|colocacct|squeue|sinfo|sacct|scontrol\ (-o\ )?show|cat|grep)([^a-z]|$) ]]
}

# blocks_eval FILE OUT: in this shell; sets block_rc.
blocks_eval() {
  local -
  set +eu -o pipefail # of a pipeline all parts count
  block_rc=0
  # shellcheck source=/dev/null
  . "$1" >"$2" 2>&1 </dev/null || block_rc=$?
}

# blocks_run DIR N REPORT: the block's commands, one after another, in this shell (its directory,
# variables and background jobs stay). Calls REPORT 0|1 NAME [DETAIL] for each command.
blocks_run() {
  local _dir=$1 _n=$2 _report=$3 _k _count _cmd _want _got _text _status _last _shows='' _problem _end _e
  blocks_field "$_dir" "$_n"
  if [ -s "$_dir/$_n.setup" ]; then
    blocks_eval "$_dir/$_n.setup" "$_dir/$_n.out"
    [ "$block_rc" = 0 ] || "$_report" 1 "$block_where: prepare" "status $block_rc: $(tail -5 "$_dir/$_n.out")"
  fi
  _count=$(blocks_split "$_dir/$_n.body" "$_dir/$_n")
  [ "$_count" -gt 0 ] || "$_report" 1 "$block_where" "there is no command in it"
  for ((_k = 1; _k <= _count; _k++)); do [ ! -s "$_dir/$_n.$_k.want" ] || _shows=1; done
  for ((_k = 1; _k <= _count; _k++)); do
    _cmd=$_dir/$_n.$_k.cmd _want=$_dir/$_n.$_k.want _got=$_dir/$_n.$_k.got
    _text=$(cat "$_cmd") _status=0 _end=$((SECONDS + 20))
    _last=$(sed -n 's/.*\<status=\([0-9]*\).*/\1/p' <<<"$block_words")
    [ "$_k" -lt "$_count" ] || _status=${_last:-0}
    while :; do
      _problem=''
      blocks_eval "$_cmd" "$_got"
      for _e in ${blocks_subst[@]+"${blocks_subst[@]}"}; do sed -i "$_e" "$_got"; done
      if [ "$block_rc" != "$_status" ]; then
        _problem="status $block_rc: $(tail -5 "$_got")"
      elif [ -n "$_shows" ] && [ -z "$blocks_uncompared" ]; then
        blocks_has "$block_words" sorted && _e=sorted || _e=''
        _problem=$(blocks_same "$_want" "$_got" "$_e")
      fi
      if [ -z "$_problem" ] || ! blocks_asks "$_text" || [ "$SECONDS" -ge "$_end" ]; then break; fi
      sleep 0.2
    done
    [ -z "$_problem" ] || [ ! -s "$_got" ] || _problem+=$'\n'"all that was printed:"$'\n'$(head -40 "$_got")
    if [ -z "$_problem" ]; then
      "$_report" 0 "$block_where: $_text"
    else
      "$_report" 1 "$block_where: $_text" "$_problem"
    fi
  done
}

# blocks_static DIR N: what can be said of a block without running it; prints what is wrong.
blocks_static() {
  local file line found
  blocks_field "$1" "$2"
  [ "$block_kind" = host ] || ! blocks_has "$block_words" full || echo "full is a word for host"
  case $block_kind in
  host | node | build | root | quickstart) ;;
  conf | plugstack) ! grep -q '^\$ ' "$1/$2.body" || echo "a block of kind $block_kind has no commands" ;;
  text)
    [ -n "$block_words" ] || echo "text needs a reason"
    case $block_kind/$block_language in
    text/console) echo "a console block is run" ;;
    text/- | text/man) ! grep -q '^\$ ' "$1/$2.body" || echo "this is no text: it has commands" ;;
    esac
    ;;
  by)
    [ -n "$block_words" ] || echo "by needs a file"
    for file in $block_words; do [ -f "$file" ] || echo "no file $file"; done
    case $block_language in
    - | sh | console | man)
      # Of each command the words before its comment.
      while read -r line; do
        found=''
        for file in $block_words; do ! grep -qF -- "$line" "$file" 2>/dev/null || found=1; done
        [ -n "$found" ] || echo "none of $block_words runs: $line"
      done < <(sed -e 's/^\$ //' -e 's/ *\(#.*\)\?$//' -e '/^$/d' "$1/$2.body")
      ;;
    *)
      for file in $block_words; do
        grep -qF -- "${block_where%:*}" "$file" || grep -qF "$(basename "${block_where%:*}")" "$file" ||
          echo "$file does not name ${block_where%:*}"
      done
      ;;
    esac
    ;;
  *) echo "unknown kind '$block_kind'" ;;
  esac
}
