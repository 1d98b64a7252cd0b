#!/usr/bin/env python3
"""Measures whole runs in CPU time, each beside a bare event loop run in the same minute, and prints a table.

    scripts/benchmark.py [--binary build/ridgeline] [--bound bound.cpp] [--traces FOLDER] [--repeat 3] [--quick] [--write docs/performance.md]

The bare loop (mode b of ../shared/bench/bound.cpp: sums and a finish heap, no engine rules) tells how fast the machine is at that
moment, so ratios can be compared where seconds can't. Rows that need what is absent are left out, by name. With --write the table
replaces the text between the markers <!-- benchmark --> and <!-- /benchmark --> of the file.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNS = ROOT / "tests" / "benchmarks" / "runs"
CONVERSATION = "mooncake_fast25/conversation_trace.head7851.jsonl"


def rate(replicas):  # of the bare loop's scenario: 6.44 requests/s a replica, about 80 % of what one can serve
    return 412 * replicas / 64


def row(name, file, requests, replicas, **settings):
    return {"name": name, "file": file, "requests": requests, "replicas": replicas, "settings": settings}


def fixed(requests, replicas):
    return row("512 in, 128 out", "fixed.yaml", requests, replicas, **{"workload.request_rate": rate(replicas)})


ROWS = [
    fixed(1_000, 1), fixed(10_000, 1), fixed(100_000, 1),
    fixed(10_000, 64), fixed(100_000, 64), fixed(200_000, 64), fixed(1_000_000, 64), fixed(4_000_000, 64),
    fixed(1_000_000, 1024),
    row("Azure conversation", "azure.yaml", 500_000, 64),
    row("long context, preempted", "long-context.yaml", 20_000, 8),
    row("Mooncake conversation", "mooncake.yaml", 7_851, 16),
]


def cpu_seconds(command):
    """CPU seconds and peak memory (bytes) of a finished command."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}\n{process.stderr.read().decode()}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def command_of(one, options):
    command = [str(options.binary), "run", str(RUNS / one["file"]), "--set", f"fleet[0].replicas={one['replicas']}"]
    if one["file"] == "mooncake.yaml":
        command += ["--set", f"workload.trace={options.traces / CONVERSATION}"]
    else:
        command += ["--set", f"workload.num_prompts={one['requests']}"]
    for key, value in one["settings"].items():
        command += ["--set", f"{key}={value:g}"]
    return command + ["--progress", "never", "--json", "-"]


def measure(one, bound, options):
    """Median CPU seconds of ours and of the bare loop, in turns."""
    ours, bare, memory = [], [], 0
    for _ in range(1 if one["requests"] > 500_000 and not options.thorough else options.repeat):
        if bound:
            bare.append(cpu_seconds([bound, "b", str(one["requests"]), str(one["replicas"]), f"{rate(one['replicas']):g}"])[0])
        seconds, peak = cpu_seconds(command_of(one, options))
        ours.append(seconds)
        memory = max(memory, peak)
    return statistics.median(ours), statistics.median(bare) if bare else None, memory


def table(rows, bound, options):
    lines = ["| run | requests | replicas | CPU s | requests per CPU s | bare loop, CPU s | ratio | peak memory |", "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for one in rows:
        if one["file"] == "mooncake.yaml" and not (options.traces / CONVERSATION).exists():
            print(f"left out: {one['name']} (no {options.traces / CONVERSATION})", file=sys.stderr)
            continue
        print(f"{one['name']}, {one['requests']:,} requests, {one['replicas']} replicas ...", file=sys.stderr)
        seconds, bare, memory = measure(one, bound if one["file"] == "fixed.yaml" else None, options)
        ratio = f"{bare:.3f} | {seconds / bare:.1f}" if bare else "- | -"
        lines.append(f"| {one['name']} | {one['requests']:,} | {one['replicas']:,} | {seconds:.3f} | {one['requests'] / seconds:,.0f} | {ratio} | "
                     f"{memory / 2**20:,.0f} MiB |")
    return "\n".join(lines) + "\n"


def compiled_bound(source, folder):
    if not source.exists():
        print(f"no {source}: ratios are left out", file=sys.stderr)
        return None
    program = pathlib.Path(folder) / "bound"
    subprocess.run([os.environ.get("CXX", "g++"), "-O2", "-o", str(program), str(source)], check=True)
    return str(program)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "ridgeline")
    parser.add_argument("--bound", type=pathlib.Path, default=ROOT / ".." / "shared" / "bench" / "bound.cpp")
    parser.add_argument("--traces", type=pathlib.Path, default=ROOT / ".." / "shared" / "data" / "traces")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each row; the median counts")
    parser.add_argument("--thorough", action="store_true", help="repeat the long rows too")
    parser.add_argument("--quick", action="store_true", help="only rows of up to 200,000 requests")
    parser.add_argument("--write", type=pathlib.Path, help="document to put the table into")
    options = parser.parse_args()
    rows = [one for one in ROWS if not options.quick or one["requests"] <= 200_000]
    with tempfile.TemporaryDirectory() as folder:
        text = table(rows, compiled_bound(options.bound, folder), options)
    print(text, end="")
    if options.write:
        document = options.write.read_text()
        marked = re.compile(r"(<!-- benchmark -->\n).*?(<!-- /benchmark -->)", re.DOTALL)
        if not marked.search(document):
            sys.exit(f"{options.write}: no <!-- benchmark --> markers")
        options.write.write_text(marked.sub(lambda m: m.group(1) + text + m.group(2), document))


if __name__ == "__main__":
    main()
