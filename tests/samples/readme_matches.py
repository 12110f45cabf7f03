#!/usr/bin/env python3
"""The first C code of the README must be the quick start, to the letter."""

import pathlib
import re
import sys

readme, quickstart = (pathlib.Path(p).read_text(encoding="utf-8") for p in sys.argv[1:3])
blocks = re.findall(r"^```c\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
if not blocks:
    sys.exit("the README has no C code")
if blocks[0] != quickstart:
    sys.exit("the README's first C code differs from " + sys.argv[2])
print("the README shows the quick start as it is")
