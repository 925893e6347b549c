"""What a process costs: its processor time, its memory, and that of the kernel programs it loaded."""
import json
import os
import re
import subprocess
import threading
import time

TICK = os.sysconf("SC_CLK_TCK")


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def family(pid):
    """A process and all that it started, as far as they still run."""
    return [pid] + [one for child in children(pid) for one in family(child)]


def own_seconds(pid):
    """Processor time of a process and its descendants, those that ended included."""
    running = ended = 0
    for one in family(pid):
        try:
            with open(f"/proc/{one}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            ended += int(fields[13]) + int(fields[14])
            # In nanoseconds: what stat says comes in hundredths of a second.
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/schedstat", encoding="ascii") as file:
                    running += int(file.read().split()[0])
        except OSError:
            continue
    return running / 1e9 + ended / TICK


def resident(pid):
    """MiB: all that the process has in memory, and what its descendants have for themselves.

    Maps of the kernel that it sees as memory are left out: they are counted as maps."""
    total, name = 0, ""
    try:
        with open(f"/proc/{pid}/smaps", encoding="utf-8", errors="replace") as file:
            for line in file:
                if re.match(r"[0-9a-f]+-", line):
                    name = line
                elif line.startswith("Rss:") and "bpf-map" not in name:
                    total += int(line.split()[1])
    except OSError:
        return 0
    for child in family(pid)[1:]:
        try:
            with open(f"/proc/{child}/smaps_rollup", encoding="ascii") as file:
                total += int(re.search(r"Pss_Anon:\s+(\d+)", file.read())[1])
        except (OSError, TypeError):
            continue
    return total / 1024


def listing(what):
    """{id: facts} of the kernel programs ("prog") or maps ("map") there are."""
    done = subprocess.run(["bpftool", "-j", what, "show"], capture_output=True, text=True, check=True)
    return {one["id"]: one for one in json.loads(done.stdout)}


class Meter:
    """Counts from `restart` on. Programs and maps are those that were not there `before`."""

    def __init__(self, pid, before):
        self.pid = pid
        self.before = before
        self.stop = threading.Event()
        self.restart()

    def restart(self):
        self.stop.set()
        self.begun = time.monotonic()
        self.own = own_seconds(self.pid)
        self.programs = listing("prog")
        self.memory = []
        self.stop = threading.Event()
        threading.Thread(target=self.watch, args=(self.stop, self.memory), daemon=True).start()

    def watch(self, stop, memory):
        while not stop.is_set():
            memory.append(resident(self.pid))
            stop.wait(1)

    def by_program(self):
        """{name: [runs, nanoseconds]} since the restart."""
        result = {}
        for number, now in listing("prog").items():
            old = self.programs.get(number)
            if number in self.before or not old:
                continue
            sums = result.setdefault(now.get("name", ""), [0, 0])
            sums[0] += now.get("run_cnt", 0) - old.get("run_cnt", 0)
            sums[1] += now.get("run_time_ns", 0) - old.get("run_time_ns", 0)
        return result

    def map_bytes(self):
        return sum(int(one.get("bytes_memlock", 0)) for number, one in listing("map").items()
                   if ("map", number) not in self.before)

    def own_seconds(self):
        return own_seconds(self.pid) - self.own

    def finish(self):
        """Shares of a processor in percent, MiB, and the programs."""
        self.stop.set()
        seconds = time.monotonic() - self.begun
        programs = self.by_program()
        return {"own": 100 * self.own_seconds() / seconds,
                "kernel": sum(ns for _, ns in programs.values()) / 1e7 / seconds,
                "programs": programs,
                "memory": sum(self.memory) / max(len(self.memory), 1),
                "most": max(self.memory, default=0),
                "maps": self.map_bytes() / 2**20}
