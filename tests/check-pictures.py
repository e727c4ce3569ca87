#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check-pictures.py - the pictures of doc/, and what contrib/ansi-svg draws: every stretch of text
stands where its characters are, in every renderer. Blanks that browsers drop or join are in none;
on a terminal's picture each stretch is on the grid, as long as its characters are wide, and none
overlaps another. Where a Chromium is installed it lays the texts out, and its figures are compared,
too (COLOC_CHROMIUM names it; "" leaves it out)."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

SRC = Path(os.environ.get("COLOC_SRCDIR") or Path(__file__).resolve().parent.parent)
SVG = "{http://www.w3.org/2000/svg}"
WIDTH, MARGIN = 8.4, 14
failed = 0


def check(good, text):
    global failed
    if not good:
        failed += 1
        print("FAIL:", text)


def texts(root):
    for t in root.iter(SVG + "text"):
        yield t, "".join(t.itertext())


def check_blanks(name, root):
    for t, text in texts(root):
        check(
            text == text.strip() and "  " not in text and "\n" not in text,
            f"{name}: {text!r} has blanks that a browser drops",
        )


def check_terminal(name, root, rows=None):
    """rows: what the terminal showed, to be found again by position."""
    seen, right = {}, {}
    for t, text in texts(root):
        x, y = float(t.get("x")), float(t.get("y"))
        column = (x - MARGIN) / WIDTH
        length = float(t.get("textLength"))
        check(abs(column - round(column)) < 0.02, f"{name}: {text!r} at {x} is beside the grid")
        check(abs(length - len(text) * WIDTH) < 0.06, f"{name}: {text!r} is stretched to {length}")
        check(x >= right.get(y, 0) - 0.06, f"{name}: {text!r} at {x} overlaps what is before it")
        right[y] = x + length
        line = seen.setdefault(y, {})
        for i, c in enumerate(text):
            line[round(column) + i] = c
    if rows is not None:
        for row, want in enumerate(rows):
            line = seen.get(MARGIN + row * 18 + 13, {})
            got = "".join(line.get(i, " ") for i in range(max(line, default=-1) + 1))
            check(got == want.rstrip(), f"{name}: row {row} is {got!r}, not {want.rstrip()!r}")


def draw(text, columns):
    return subprocess.run(
        [sys.executable, str(SRC / "contrib/ansi-svg"), str(columns)],
        input=text, capture_output=True, text=True, check=True,
    ).stdout


def chromium():
    named = os.environ.get("COLOC_CHROMIUM")
    if named is not None:
        return named
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return name
    return ""


class Title(HTMLParser):
    text, inside = "", False

    def handle_starttag(self, tag, attrs):
        self.inside = self.inside or (tag == "pre" and ("id", "out") in attrs)

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "pre"

    def handle_data(self, data):
        self.text += data if self.inside else ""


def measure(browser, svgs):
    """Of each text of each picture: x of its first character, and of the end of its last."""
    page = (
        "<!doctype html><meta charset=utf-8><body style='margin:0'>"
        + "".join(f"<div class=p>{svg}</div>" for svg in svgs) + "<pre id=out></pre>"
        "<script>out.textContent=[...document.querySelectorAll('div.p')].map(p=>[...p.querySelectorAll('svg text')].map(t=>{"
        "const n=t.getNumberOfChars();return n?t.getStartPositionOfChar(0).x.toFixed(1)+' '"
        "+t.getEndPositionOfChar(n-1).x.toFixed(1)+' '+n:'none'}).join('\\n')).join('\\n\\n')</script>"
    )
    with tempfile.TemporaryDirectory() as d:
        (Path(d) / "page.html").write_text(page, encoding="utf-8")
        p = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", f"--user-data-dir={d}/profile", "--dump-dom",
             f"file://{d}/page.html"],
            capture_output=True, text=True, timeout=120,
        )
    parser = Title()
    parser.feed(p.stdout)
    return [part.split("\n") for part in parser.text.split("\n\n")] if parser.text else None


def check_measured(name, root, places):
    pairs = list(texts(root))
    check(len(places) == len(pairs), f"{name}: {len(places)} of {len(pairs)} texts are laid out")
    for (t, text), place in zip(pairs, places):
        if place == "none":
            check(not text, f"{name}: {text!r} is not drawn")
            continue
        start, end, n = place.split()
        check(int(n) == len(text), f"{name}: of {text!r} {n} characters are drawn")
        if t.get("textLength"):
            want = float(t.get("x")), float(t.get("x")) + float(t.get("textLength"))
            check(
                abs(float(start) - want[0]) < 1 and abs(float(end) - want[1]) < 1,
                f"{name}: {text!r} is drawn from {start} to {end}, not {want}",
            )


def main():
    browser = chromium()
    rows = ["  a  b   c", "\x1b[1;4m   HEAD   NEXT  \x1b[0m  \x1b[7m  x <&> y\x1b[27m z ", "", " last"]
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", r) for r in rows]
    pictures = {"ansi-svg": draw("\n".join(rows) + "\n", 40)}
    check_terminal("ansi-svg", ET.fromstring(pictures["ansi-svg"]), plain)
    for path in sorted((SRC / "doc").rglob("*.svg")):
        pictures[str(path.relative_to(SRC))] = path.read_text(encoding="utf-8")
    for walk in sorted((SRC / "doc").rglob("*.walk")):
        drawn = subprocess.run(
            [sys.executable, str(SRC / "contrib/walk-svg"), str(walk)], capture_output=True, text=True
        )
        svg = walk.with_suffix(".svg")
        check(
            drawn.returncode == 0 and drawn.stdout == pictures.get(str(svg.relative_to(SRC))),
            f"{svg.relative_to(SRC)} is not what contrib/walk-svg draws of it {drawn.stderr}",
        )
    concepts = subprocess.run(
        [sys.executable, str(SRC / "contrib/concepts-svg"), "--list"], capture_output=True, text=True, check=True
    ).stdout.split()
    check(len(concepts) > 5, "contrib/concepts-svg names no pictures")
    for concept in concepts:
        drawn = subprocess.run(
            [sys.executable, str(SRC / "contrib/concepts-svg"), concept], capture_output=True, text=True
        )
        name = f"doc/concepts/{concept}.svg"
        check(drawn.stdout == pictures.get(name), f"{name} is not what contrib/concepts-svg draws {drawn.stderr}")
    drawn = subprocess.run(
        [sys.executable, str(SRC / "contrib/coremap-svg"), str(SRC / "doc/results/cores.map")],
        capture_output=True, text=True,
    )
    check(drawn.stdout == pictures.get("doc/cores.svg"), f"doc/cores.svg is not what contrib/coremap-svg draws {drawn.stderr}")
    for name, svg in pictures.items():
        root = ET.fromstring(svg)
        check_blanks(name, root)
        if name == "doc/top.svg":
            check_terminal(name, root)
    # One browser for all: starting it takes seconds.
    measured = browser and measure(browser, [re.sub(r"<\?xml.*?\?>", "", svg) for svg in pictures.values()])
    if browser and measured is None:
        print(f"not measured: {browser} gives no page here")
    elif browser:
        check(len(measured) == len(pictures), f"{len(measured)} of {len(pictures)} pictures are laid out")
        for (name, svg), places in zip(pictures.items(), measured):
            check_measured(name, ET.fromstring(svg), places)
    print(f"{len(pictures)} pictures{'' if browser else ', not measured: no Chromium here'}, {failed} faults")
    return 1 if failed else 0


sys.exit(main())
