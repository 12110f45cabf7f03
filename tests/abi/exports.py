#!/usr/bin/env python3
"""What libhiera.so exports and needs.

exports.py LIBRARY HEADER   the exported symbols are exactly the functions that HEADER declares, and
                            the library needs the C library alone.
"""

import re
import subprocess
import sys

ALLOWED_NEEDED = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}


def output(*command):
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout


def main():
    library, header = sys.argv[1:3]
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    declared = set(re.findall(r"^HIERA_API\b[^;(]*?\b(hiera_\w+)\s*\(", text, flags=re.M))
    exported = set()
    for line in output("nm", "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":  # the version's own name
            exported.add(name.split("@")[0])
    problems = [f"declared, not exported: {n}" for n in sorted(declared - exported)]
    problems += [f"exported, not declared: {n}" for n in sorted(exported - declared)]
    if len(declared) < 17:
        problems.append(f"only {len(declared)} declarations were recognised in {header}")
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", library)))
    problems += [f"needs {n}" for n in sorted(needed - ALLOWED_NEEDED)]
    print("\n".join(problems) or f"{len(exported)} functions, needs {', '.join(sorted(needed))}")
    sys.exit(1 if problems else 0)


main()
