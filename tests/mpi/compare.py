#!/usr/bin/env python3
"""compare.py CALLS_DIR INFO_JSON: the calls that the ranks of a program counted themselves, against
those of a trace of the same run.

CALLS_DIR holds a file calls.RANK for each rank that lived to write one (check.h); INFO_JSON is what `straggler trace info
--json` printed. Counts must be equal, name by name, except those of LOCAL functions, which neither communicate nor wait: a
trace may leave them out, and programs need not count them.
"""
import json
import pathlib
import re
import sys

LOCAL = re.compile(
    r"MPI_(Comm_(rank|size|remote_size|group|set_errhandler|create_errhandler)|Group_.*|Get_.*|Type_.*|Op_.*"
    r"|Test_cancelled|Dims_create|Cart_shift|Graph_neighbors.*|Buffer_.*|Request_get_status|Initialized|Finalized"
    r"|Errhandler_.*|Error_.*|Wtime|Abort|Query_thread|Is_thread_main|Comm_get_parent|Comm_(get|set)_name|Comm_compare)$"
)


def summed(pairs):
    """Calls by name; functions with counts beyond an int go under the name of their older sister."""
    calls = {}
    for name, count in pairs:
        name = re.sub(r"_c$", "", name)
        calls[name] = calls.get(name, 0) + int(count)
    return calls


def counted(path):
    """What a rank counted."""
    return summed(line.split() for line in path.read_text().splitlines())


def traced(info, rank):
    """What the trace has of a rank, or None."""
    ranks = info["ranks"]
    if isinstance(ranks, dict):
        entry = ranks.get(str(rank))
    else:
        entry = ranks[rank] if rank < len(ranks) else None
    return entry and summed((name, of["calls"]) for name, of in entry["functions"].items())


def differences(own, seen):
    for name in sorted(own.keys() | seen.keys()):
        called, recorded = own.get(name, 0), seen.get(name, 0)
        if called != recorded and not LOCAL.match(name):
            yield f"{name}: called {called} times, recorded {recorded} times"


def main(arguments):
    folder, info = pathlib.Path(arguments[0]), json.loads(pathlib.Path(arguments[1]).read_text())
    files = sorted(folder.glob("calls.*"), key=lambda path: int(path.suffix[1:]))
    faults = 0
    for path in files:
        rank = int(path.suffix[1:])
        seen = traced(info, rank)
        lines = ["is not in the trace"] if seen is None else list(differences(counted(path), seen))
        for line in lines:
            print(f"rank {rank}: {line}")
        faults += len(lines)
    if not files:
        print(f"no rank wrote its counts to {folder}")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
