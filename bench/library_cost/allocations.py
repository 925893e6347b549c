"""What watching allocations costs, and whether it is true."""
import json
import math

from library_cost import peers
from library_cost.meter import (ROUNDS, WORKLOADS, build, fresh, medians, number, profiled, row, run, top)

HEAP = {"VESTAL_TYPES": "alloc,heap"}
COARSE, FINE = 512 << 10, 32 << 10
# Of inside.c's sizes.
MEAN_SIZE = 272
SIZES = {"alloc_tiny": {16: 1}, "alloc_small": {512: 1}, "alloc_large": {1 << 20: 1},
         "alloc_huge": {4 << 20: 1}, "alloc_aligned": {4096: 1}, "keep_some": {1024: 1},
         "keep_grown": {4096: 1 / 3, 8192: 2 / 3}}


def present(**candidates):
    return {name: envs for name, envs in candidates.items() if all(env is not None for env in envs)}


def malloc():
    """Added to a pair of malloc and free, in turns with the same allocator without sampling."""
    who = present(libvestal=({}, profiled(**HEAP)),
                  tcmalloc=(peers.tcmalloc(0), peers.tcmalloc(COARSE)),
                  jemalloc=(peers.jemalloc(0), peers.jemalloc(COARSE)),
                  heaptrack=({}, peers.heaptrack()))
    for threads in ("1", "2"):
        flat = [env for envs in who.values() for env in envs]
        found = medians(lambda env, t=threads: number(["pairs", t], env), *flat)
        added = {name: found[2 * i + 1] - found[2 * i] for i, name in enumerate(who)}
        row(f"added to a malloc/free pair of {found[0]:.1f} ns, {threads} thread(s)",
            f"{added.pop('libvestal'):.2f} ns", [(name, f"{ns:.1f}") for name, ns in added.items()],
            "<= 4 ns")


def sampled():
    """Each sampled allocation: more of them, and what that adds."""
    who = present(libvestal=(profiled(**HEAP), profiled(VESTAL_ALLOC_INTERVAL="32KB", **HEAP)),
                  tcmalloc=(peers.tcmalloc(COARSE), peers.tcmalloc(FINE)),
                  jemalloc=(peers.jemalloc(COARSE), peers.jemalloc(FINE)))
    flat = [env for envs in who.values() for env in envs]
    found = medians(lambda env: number(["deep", "40"], env), *flat)
    more = MEAN_SIZE / FINE - MEAN_SIZE / COARSE
    each = {name: (found[2 * i + 1] - found[2 * i]) / more / 1000 for i, name in enumerate(who)}
    row("each sampled allocation, 40 frames without frame pointers", f"{each.pop('libvestal'):.2f} us",
        [(name, f"{us:.1f}") for name, us in each.items()], "<= 2 us")


def deviation(total, sizes, interval):
    """Of an estimate by bytes sampled at random (docs/library.md)."""
    return math.sqrt(sum(share * total * size * (1 / (1 - math.exp(-size / interval)) - 1)
                         for size, share in sizes.items()))


def bytes_by_site():
    """All rounds together: the noise is less, and what is wrong by rule would stand out."""
    rounds, sums, truth, whole = 3 * ROUNDS, {}, {}, []
    program = build(WORKLOADS / "allocator.c")
    for _ in range(rounds):
        out = fresh("sites") / "profile.pb.gz"
        done = run([program, "64"], dict(profiled(**HEAP), VESTAL_OUTPUT=str(out)))
        truth = json.loads(done.stdout)["alloc"]
        names = top(out, "--type", "alloc_space")
        for name in truth:
            sums[name] = sums.get(name, 0) + names.get(name, {"cum": 0})["cum"]
        whole.append(names["main"]["cum"] / sum(names[name]["cum"] for name in truth))
    errors = {}
    for name, total in truth.items():
        sigma = deviation(total, SIZES[name], COARSE) * math.sqrt(rounds)
        # Of what is larger than the interval every one is seen, nearly.
        errors[name] = (sums[name] - rounds * total) / max(sigma, 0.001 * rounds * total)
    worst = max(errors, key=lambda name: abs(errors[name]))
    row(f"bytes by site, 16 B to 4 MiB, 5 to 100 frames, {rounds} runs: the furthest from truth",
        f"{errors[worst]:+.1f} sigma", [(worst, f"{100 * (sums[worst] / rounds / truth[worst] - 1):+.2f} %"),
                                        ("stacks that reach main", f"{100 * min(whole):.1f} %")],
        "+-3 sigma")
