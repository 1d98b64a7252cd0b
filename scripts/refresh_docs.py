#!/usr/bin/env python3
"""Runs the commands shown in the documents and writes what they print below them.

    scripts/refresh_docs.py [--check] [--binary build/ridgeline] [FILE.md ...]      default: every document that has some

A block fenced as ```console holds commands, each on a line that starts with "$ " (a trailing backslash continues it), and their
output. Commands run in the project's root with the binary's folder first on the PATH. With --check nothing is written: exit 1 and a
diff where a document is out of date; numbers may differ by 2 %, for mathematical libraries differ in the last bit. Commands that name ../shared are skipped where that folder is absent.
"""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands_of(block):
    """The commands of a block, as lists of their lines."""
    commands, open_line = [], False
    for line in block.splitlines():
        if open_line:
            commands[-1].append(line)
        elif line.startswith("$ "):
            commands.append([line])
        else:
            continue
        open_line = line.endswith("\\")
    return commands


def run(lines, environment):
    text = "\n".join(lines)[2:]
    done = subprocess.run(["bash", "-c", text], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"failed with exit {done.returncode}: {text}\n{done.stderr}")
    return done.stdout


def refreshed(document, environment):
    def replace(match):
        parts = []
        for lines in commands_of(match.group(1)):
            if "../shared" in "\n".join(lines) and not (ROOT / ".." / "shared").exists():
                return match.group(0)
            output = "\n".join(line.rstrip() for line in run(lines, environment).splitlines())
            parts.append("\n".join(lines) + "\n" + (output + "\n" if output else ""))
        return "```console\n" + "\n".join(parts) + "```"

    return BLOCK.sub(replace, document)


NUMBER = re.compile(r"\d[\d,]*\.?\d*")


def alike(before, after):
    """The same text, but for numbers within 2 % of each other."""
    if NUMBER.sub("#", before).split() != NUMBER.sub("#", after).split():
        return False
    values = [[float(text.replace(",", "")) for text in NUMBER.findall(document)] for document in (before, after)]
    return all(abs(a - b) <= 0.02 * max(abs(a), abs(b)) for a, b in zip(*values))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say whether the documents are current")
    parser.add_argument("--binary", default=ROOT / "build" / "ridgeline", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE.md")
    options = parser.parse_args()

    environment = dict(os.environ)
    environment["PATH"] = f"{options.binary.resolve().parent}:{environment['PATH']}"
    files = options.files or [file for file in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]) if BLOCK.search(file.read_text())]
    stale = False
    for file in files:
        before = file.read_text()
        after = refreshed(before, environment)
        if after == before or (options.check and alike(before, after)):
            continue
        stale = True
        if options.check:
            name = os.path.relpath(file, ROOT)
            sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, name + " (now)"))
        else:
            file.write_text(after)
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
