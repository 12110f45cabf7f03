#!/usr/bin/env python3
"""Checks what docs/style.md asks of the sources. Prints every breach and exits with 1 if any."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = {".h", ".hpp", ".cc", ".c", ".cu", ".cuh"}
SCRIPTS = {".py", ".sh", ".cmake"}
MAX_FILE_LINES = 600
MAX_LINE_LENGTH = 100
MAX_FUNCTION_LINES = 70
BANNED_STEMS = {"util", "utils", "common", "helper", "helpers", "manager", "handler", "misc"}
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")

# folder -> what it may include, besides itself and hiera.h where said. docs/architecture.md has the
# same table.
ALLOWED = {
    "runtime/base": {"include"},
    "runtime/task": {"runtime/base", "include"},
    "runtime/device": {"runtime/task", "runtime/base", "include"},
    "runtime/library": {"runtime/device", "runtime/task", "runtime/base", "include"},
    "runtime/ipc": {"runtime/task", "runtime/base", "include"},
    "runtime/core": {"runtime/library", "runtime/device", "runtime/ipc", "runtime/task",
                     "runtime/base", "include"},
    "runtime/evaluator": {"runtime/library", "runtime/device", "runtime/ipc", "runtime/task",
                          "runtime/base", "include"},
    "runtime/planner": {"cache", "policies", "runtime/ipc", "runtime/task", "runtime/base",
                        "include"},
    "runtime/tools": {"runtime/ipc", "cache", "runtime/task", "runtime/base", "include"},
    "cache": {"runtime/task", "runtime/base", "include"},
    "policies": {"runtime/task", "runtime/base", "include"},
    "samples": {"include"},
}


def tracked():
    try:
        listing = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"],
                                 capture_output=True, text=True)
        names = listing.stdout.splitlines() if listing.returncode == 0 else None
    except FileNotFoundError:
        names = None
    if names is None:  # an exported tree, or no git here
        names = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file()]
        names = [n for n in names if not n.startswith(("build", "dist/", "out/", "."))]
    return [n for n in sorted(names) if (ROOT / n).is_file()]


def folder_of(name):
    for folder in sorted(ALLOWED, key=len, reverse=True):
        if name.startswith(folder + "/"):
            return folder
    return None


def check_includes(name, lines, complain):
    home = folder_of(name)
    if home is None:
        return
    for number, line in enumerate(lines, 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        target = match.group(2)
        if target.startswith("hiera/"):
            there = "include"
        elif target.startswith(("runtime/", "cache/", "policies/")):
            there = folder_of(target) or target
        else:
            continue
        if there != home and there not in ALLOWED[home]:
            complain(f"{name}:{number}: {home} may not include {target}")


def check_functions(name, lines, complain):
    """Functions whose closing brace stands in column 1 (or 1 level in, for in-class ones)."""
    start = None
    for number, line in enumerate(lines, 1):
        if start is None:
            if re.match(r"^[A-Za-z].*\)[^;]*\{\s*$", line) and not line.startswith(
                    ("namespace", "extern", "struct", "class", "enum", "union")):
                start = number
        elif line.startswith("}"):
            if number - start + 1 > MAX_FUNCTION_LINES:
                complain(f"{name}:{start}: a function of {number - start + 1} lines "
                         f"(at most {MAX_FUNCTION_LINES})")
            start = None


def check_text(name, lines, complain):
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE_LENGTH:
            complain(f"{name}:{number}: {len(line)} columns (at most {MAX_LINE_LENGTH})")
        if UNFINISHED.search(line):
            complain(f"{name}:{number}: unfinished work is marked here")
        if line != line.rstrip() or "\t" in line:
            complain(f"{name}:{number}: a tab or trailing blanks")
    if len(lines) > MAX_FILE_LINES:
        complain(f"{name}: {len(lines)} lines (at most {MAX_FILE_LINES})")
    if pathlib.PurePath(name).stem in BANNED_STEMS:
        complain(f"{name}: the name says nothing about what is inside")


def check_environment(name, text, complain):
    if name.startswith(("runtime/", "cache/", "policies/")) and name != \
            "runtime/base/environment.cc" and re.search(r"\bgetenv\s*\(", text):
        complain(f"{name}: environment variables are read in runtime/base/environment.cc")


def main():
    breaches = []
    checked = 0
    for name in tracked():
        suffix = pathlib.PurePath(name).suffix
        if suffix not in CODE | SCRIPTS:
            continue
        text = (ROOT / name).read_text(encoding="utf-8")
        lines = text.splitlines()
        checked += 1
        check_text(name, lines, breaches.append)
        if suffix in CODE:
            check_includes(name, lines, breaches.append)
            check_functions(name, lines, breaches.append)
            check_environment(name, text, breaches.append)
    for breach in breaches:
        print(breach)
    print(f"{checked} files checked, {len(breaches)} breaches")
    return 1 if breaches or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
