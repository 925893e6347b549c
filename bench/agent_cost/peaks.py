"""What an agent costs in its worst half second, and what memory it has, all its processes counted."""
import os
import re
import threading
import time

from agent_cost.meter import family

WINDOW = 0.5
# A clock is read so often; what a process used in its last step before it ended is not seen.
STEP = 0.05


def task_times(pid):
    """{thread: (name, nanoseconds)} of a process."""
    found = {}
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
                found[int(task)] = int(file.read().split()[0])
    except OSError:
        pass
    return found


def fdinfo(pid):
    for number in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii", errors="replace") as file:
                yield number, file.read()
        except OSError:
            continue


def field(text, name):
    found = re.search(rf"^{name}:\s+(\d+)", text, re.M)
    return int(found[1]) if found else 0


def pss(pid):
    """Bytes of a process, but for mappings of kernel maps, which are counted as maps."""
    total, name = 0, ""
    try:
        with open(f"/proc/{pid}/smaps", encoding="utf-8", errors="replace") as file:
            for line in file:
                if re.match(r"[0-9a-f]+-", line):
                    name = line
                elif line.startswith("Pss:") and "bpf-map" not in name:
                    total += int(line.split()[1]) << 10
    except OSError:
        pass
    return total


def memory(pid):
    """Bytes: proportional set size of the agent and its workers, and its kernel maps."""
    maps = sum(field(text, "memlock") for _, text in fdinfo(pid) if "map_type" in text)
    return sum(pss(one) for one in family(pid)) + maps


class PeakMeter:
    """From now until `finish`: processor time of every half second, and memory every second."""

    def __init__(self, pid):
        self.pid = pid
        self.programs = [number for number, text in fdinfo(pid) if "prog_type" in text]
        self.rows, self.sizes = [], []
        self.last, self.ended = {}, 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def programs_ns(self):
        total = 0
        for number in self.programs:
            try:
                with open(f"/proc/{self.pid}/fdinfo/{number}", encoding="ascii", errors="replace") as file:
                    total += field(file.read(), "run_time_ns")
            except OSError:
                continue
        return total

    def look(self):
        now, tasks = time.monotonic(), {}
        for one in family(self.pid):
            tasks.update(task_times(one))
        self.ended += sum(ns for task, ns in self.last.items() if task not in tasks)
        self.last = tasks
        self.rows.append((now, sum(tasks.values()) + self.ended + self.programs_ns()))

    def watch(self):
        next_size = 0
        while not self.stop.is_set():
            self.look()
            if time.monotonic() >= next_size:
                next_size = time.monotonic() + 1
                self.sizes.append(memory(self.pid))
            self.stop.wait(STEP)

    def finish(self):
        """Percent of a processor in the worst half second and on average; MiB, most and median."""
        self.stop.set()
        self.thread.join()
        worst, first = 0, 0
        for at, used in self.rows:
            while at - self.rows[first][0] > WINDOW:
                first += 1
            before = self.rows[max(first - 1, 0)]
            # A look that came late makes the window longer, and counts by its length.
            if at - before[0] >= 0.9 * WINDOW:
                worst = max(worst, (used - before[1]) / (at - before[0]))
        length = self.rows[-1][0] - self.rows[0][0]
        mean = (self.rows[-1][1] - self.rows[0][1]) / length
        sizes = sorted(self.sizes)
        return {"peak": worst / 1e7, "mean": mean / 1e7, "most": sizes[-1] / 2**20,
                "median": sizes[len(sizes) // 2] / 2**20}
