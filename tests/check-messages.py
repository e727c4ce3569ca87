#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check-messages.py [--list] - doc/troubleshooting.md has each message by its text, and none that
nothing prints.

A message is the format of a call that speaks to an administrator or a user:
  check  check_add() with CHECK_WARN or CHECK_FAIL, in nodesvc/ctl; cgroup_unfit(), which it shows
  log    log_error(), log_warning() and log_info(), in nodesvc; log_debug() is for those who read it
         beside the source
  start  err_set(), and conf's refuse(), in what colocd starts with: configuration, node, socket and
         databases; it ends with such a text, or goes on with the old configuration
  srun   slurm_error(), slurm_info() and slurm_spank_log() in spank, err_set() of its options and of
         plugstack.conf's line, and what colocd refuses a step with (refuse_step(), keep_out())
Where the format has no word of its own ("%s"), the literals among its arguments are the messages;
where there are none either, another part's text is quoted, and the page says how to read such a line.

Below "## Messages" of the page a message stands in `...` in a table, with anything but nothing for each conversion.
--list prints the messages that the page lacks, as rows to be filled in."""
import os
import re
import sys
from pathlib import Path

SRC = Path(os.environ.get("COLOC_SRCDIR") or Path(__file__).resolve().parent.parent)
PAGE = SRC / "doc/troubleshooting.md"
CONVERSION = re.compile(r"%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+)?)?(?:hh|h|ll|l|z|j|t)?[diouxXeEfgGscp]|\0")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
ESCAPES = {"n": " ", "t": " ", '"': '"', "\\": "\\", "'": "'"}
# Calls: name, which argument is the format, kind, files.
CALLS = [
    ("check_add", 4, "check", "nodesvc/ctl/check_*.c"),
    ("cgroup_unfit", 1, "check", "nodesvc/actuate/*.c"),
    ("log_error", 0, "log", "nodesvc/**/*.c"),
    ("log_warning", 0, "log", "nodesvc/**/*.c"),
    ("log_info", 0, "log", "nodesvc/**/*.c"),
    ("refuse", 2, "start", "nodesvc/conf/*.c"),
    ("err_set", 2, "start", "nodesvc/conf/*.c"),
    ("err_set", 2, "start", "nodesvc/node/*.c"),
    ("err_set", 2, "start", "nodesvc/daemon/*.c"),
    ("err_set", 2, "start", "nodesvc/socket/listener.c"),
    ("err_set", 2, "start", "nodesvc/record/db.c"),
    ("slurm_error", 0, "srun", "spank/*.c"),
    ("slurm_info", 0, "srun", "spank/*.c"),
    ("slurm_spank_log", 0, "srun", "spank/*.c"),
    ("err_set", 2, "srun", "spank/opts.c"),
    ("err_set", 2, "srun", "spank/args.c"),
    ("refuse_step", 1, "srun", "nodesvc/daemon/*.c"),
    ("keep_out", 1, "srun", "nodesvc/daemon/*.c"),
]


def without_comments(text):
    return re.sub(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', lambda m: m[0] if m[0][0] == '"' else " ", text, flags=re.S)


def arguments(text, at):
    """The arguments of a call whose parenthesis opens at @at."""
    depth, start, found, i = 0, at + 1, [], at
    while i < len(text):
        c = text[i]
        if c == '"':
            i += LITERAL.match(text, i).end() - i - 1
        elif c == "'":
            i = text.index("'", i + (2 if text[i + 1] == "\\" else 1) + 0)
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if not depth:
                return found + [text[start:i]]
        elif c == "," and depth == 1:
            found.append(text[start:i])
            start = i + 1
        i += 1
    return []


def literal(argument):
    """Adjacent literals as one text, what stands between them (PRIu64, a macro's text) as \\0."""
    parts, at = [], 0
    for m in LITERAL.finditer(argument):
        if argument[at : m.start()].strip():
            parts.append("\0")
        parts.append(re.sub(r"\\(.)", lambda e: ESCAPES.get(e[1], e[1]), m[1]))
        at = m.end()
    if parts and argument[at:].strip():
        parts.append("\0")
    text = "".join(parts)
    return re.sub(r"%\0u?", "\0", text) if "%\0" in text else text


def words(text):
    return re.search(r"[A-Za-z]{2}", CONVERSION.sub("", text.replace("%%", "\1")))


def messages():
    found = {}
    for name, which, kind, pattern in CALLS:
        files = sorted(SRC.glob(pattern))
        if not files:
            sys.exit(f"check-messages: no file {pattern}")
        for path in files:
            text = without_comments(path.read_text(encoding="utf-8"))
            for m in re.finditer(r"(?<![A-Za-z0-9_])" + name + r"\(", text):
                argument = arguments(text, m.end() - 1)
                if len(argument) <= which or (name == "check_add" and "CHECK_WARN" not in argument[1] and "CHECK_FAIL" not in argument[1]):
                    continue
                own = literal(argument[which]) if LITERAL.match(argument[which].strip()) else ""
                texts = [own] if words(own) else []
                if not texts:
                    for rest in argument[which:]:
                        texts += [t for t in (literal(x[0]) for x in LITERAL.finditer(rest)) if words(t)]
                for t in texts:
                    # A percent sign is none of a conversion: \1 until it is shown.
                    found.setdefault(t.strip().replace("%%", "\1"), (kind, path.relative_to(SRC)))
    return found


def pattern(text):
    parts = CONVERSION.split(text)
    return "^" + ".+".join(re.escape(p) for p in parts).replace("\1", "%") + "$"


def shown(text):
    return CONVERSION.sub("…", text).replace("\1", "%")


def main():
    found = messages()
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    rows = [c for line in page.partition("\n## Messages\n")[2].split("\n") if line.startswith("| `") for c in re.findall(r"`([^`]+)`", line.split(" | ")[0])]
    missing = [t for t in found if not any(re.match(pattern(t), r) for r in rows)]
    if "--list" in sys.argv[1:]:
        for kind in ("check", "log", "start", "srun"):
            print(f"\n## {kind}\n")
            for t in sorted(m for m in missing if found[m][0] == kind):
                print(f"| `{shown(t)}` | {found[t][1]} | |")
        return 0
    # "step %s: %s" would match whatever is said of a step.
    telling = [t for t in found if len(re.findall(r"[A-Za-z]{2,}", CONVERSION.sub("", t))) > 1]
    stale = [r for r in rows if r not in map(shown, found) and not any(re.match(pattern(t), r) for t in telling)]
    for t in missing:
        print(f"check-messages: {found[t][1]}: not on {PAGE.relative_to(SRC)}: {shown(t)}")
    for r in stale:
        print(f"check-messages: {PAGE.relative_to(SRC)}: nothing prints: {r}")
    if len(found) < 100:
        print(f"check-messages: only {len(found)} messages found in the sources")
        return 1
    print(f"{len(found)} messages, {len(missing)} not on the page; {len(rows)} on it, {len(stale)} that nothing prints")
    return 1 if missing or stale else 0


sys.exit(main())
