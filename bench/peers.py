#!/usr/bin/env python3
"""Times what a user would write in numpy beside aggregators.h: one process, in turns, one thread.

usage: peers.py [--only rule] [--size n,f,dim] [library [markdown]]

library: bench/peers.c as a shared object (make peers builds it, and runs this). The table is
printed and written as markdown. BENCH_QUICK=1 is short. Without numpy it says so and succeeds.

Two kinds of formulations, both written here from the definitions of the rules:
  BLAS      distances from the Gram matrix x @ x.T, row mixing as a matrix product. As fast as the
            BLAS that numpy is linked with; wrong when rows share a large offset.
  library   as the libraries in Python do it: differences, norms, sorts, enumeration of subsets
Ours is timed by the C code, so the call from Python is not counted.
"""
import ctypes
import itertools
import math
import os
import signal
import sys
import time

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[threads] = "1"  # before numpy is loaded
try:
    import numpy as np
except ImportError:
    print("peers.py: numpy is not installed, nothing to compare with")
    sys.exit(0)

QUICK = os.environ.get("BENCH_QUICK", "0") not in ("", "0")
SIZES = ((10, 3, 1000000), (50, 15, 100000), (100, 30, 100000), (1000, 400, 1000), (10, 3, 386))
QUICK_SIZES = ((10, 3, 100000), (50, 15, 10000), (10, 3, 386))
BUDGET = 0.03 if QUICK else 1.0  # seconds for a formulation at a size
CUT = 2 if QUICK else 5  # seconds of the processor after which a call is given up
SUBSETS = 10 ** 5  # beyond this many, enumeration is not tried
GOAL_BLAS = 2  # times ours, everywhere
GOAL_LIBRARY, GOAL_LIBRARY_SIZE = 20, (10, 3, 1000000)  # times ours, there

# ---- pieces


def pair_distances(x):
    """Squared, subtract first."""
    d = np.empty((len(x), len(x)), x.dtype)
    for i, row in enumerate(x):
        difference = x - row
        d[i] = np.einsum("ij,ij->i", difference, difference)
    return d


def gram_distances(x):
    """Squared; numpy calls syrk for this product: one triangle."""
    g = x @ x.T
    square = g.diagonal()
    return np.maximum(square[:, None] + square - 2 * g, 0)


def squares(x):
    return np.einsum("ij,ij->i", x, x)


def mean_of(x, index):
    """The mean of some rows as a product: no copy of the rows."""
    w = np.zeros(len(x), x.dtype)
    w[index] = 1 / len(index)
    return w @ x


def krum_scores(d, neighbours):
    return np.partition(d, neighbours, axis=1)[:, :neighbours + 1].sum(axis=1)


def closest_to_median(x, keep):
    gap = np.abs(x - np.median(x, axis=0))
    near = np.argpartition(gap, keep - 1, axis=0)[:keep]
    return np.take_along_axis(x, near, axis=0).mean(axis=0)


def subsets_of(n, f):
    return map(list, itertools.combinations(range(n), n - f))


def least_diameter(d, f):
    return min(subsets_of(len(d), f), key=lambda s: d[s][:, s].max())


def bulyan_picks(d, f):
    left, picks, n = np.arange(len(d)), [], len(d)
    for t in range(n - 2 * f):
        best = krum_scores(d, max(n - t - f - 1, 0)).argmin()
        picks.append(left[best])
        left = np.delete(left, best)
        d = np.delete(np.delete(d, best, axis=0), best, axis=1)
    return picks


def clip_factors(norm, radius):
    return np.minimum(1, radius / np.maximum(norm, 1e-30)).astype(norm.dtype)


def arc_radius(norm, f):
    clipped = 2 * f * (len(norm) - f) // len(norm)
    return np.sort(norm)[len(norm) - clipped - 1]


# ---- rules: f(x, f) for rows x


def krum(distances):
    return lambda x, f: x[krum_scores(distances(x), len(x) - f - 1).argmin()]


def multi_krum(distances):
    def rule(x, f):
        score = krum_scores(distances(x), len(x) - f - 1)
        return mean_of(x, np.argpartition(score, len(x) - f - 1)[:len(x) - f])
    return rule


def mda(distances):
    return lambda x, f: mean_of(x, least_diameter(distances(x), f))


def smea(x, f):
    def top(s):
        g = x[s] - x[s].mean(axis=0)
        return np.linalg.eigvalsh(g @ g.T)[-1]
    return x[min(subsets_of(len(x), f), key=top)].mean(axis=0)


def smea_gram(x, f):
    g = x @ x.T

    def top(s):
        c = g[s][:, s]
        c = c - c.mean(axis=0)
        return np.linalg.eigvalsh(c - c.mean(axis=1)[:, None])[-1]
    return mean_of(x, min(subsets_of(len(x), f), key=top))


def bulyan(distances):
    return lambda x, f: closest_to_median(x[bulyan_picks(distances(x), f)], len(x) - 4 * f)


def gm_gram(x, f):
    """Weiszfeld on weights: n^2 an iteration. Until the value stands still; no proof of its gap."""
    g = (x @ x.T).astype(np.float64)
    w, last = np.full(len(x), 1 / len(x)), math.inf
    for _ in range(1000):
        gw = g @ w
        r = np.sqrt(np.maximum(g.diagonal() - 2 * gw + w @ gw, 1e-12))
        w = 1 / r / (1 / r).sum()
        if last - r.sum() <= 1e-7 * r.sum():
            break
        last = r.sum()
    return w.astype(x.dtype) @ x


def gm(steps, smooth):
    def rule(x, f):
        z, last = x.mean(axis=0), math.inf
        for _ in range(steps):
            r = np.maximum(np.linalg.norm(x - z, axis=1), smooth)
            z = (1 / r) @ x / (1 / r).sum()
            if last - r.sum() <= 1e-7 * r.sum():
                break
            last = r.sum()
        return z
    return rule


def caf(x, f, gram=True):
    """By the Gram matrix and its exact eigenvectors, or by power iterations on the rows."""
    n = len(x)
    g = (x @ x.T).astype(np.float64) if gram else None
    c, best, answer = np.ones(n), math.inf, None
    while c.sum() > n - 2 * f:
        w = c / c.sum()
        value, along = caf_gram(g, w) if gram else caf_rows(x, w)
        if value < best:
            best, answer = value, w
        tau = along ** 2
        c = c * (1 - tau / tau[c > 0].max())
    return answer.astype(x.dtype) @ x


def caf_gram(g, w):
    gw = g @ w
    centred = g - gw - gw[:, None] + w @ gw
    root = np.sqrt(w)
    value, vector = np.linalg.eigh(root[:, None] * centred * root)
    return value[-1], centred @ (root * vector[:, -1]) / math.sqrt(max(value[-1], 1e-300))


def caf_rows(x, w):
    centred = x - w.astype(x.dtype) @ x
    v = np.random.default_rng(0).standard_normal(x.shape[1]).astype(x.dtype)
    for _ in range(20):
        v = (w * (centred @ (v / np.linalg.norm(v)))).astype(x.dtype) @ centred
    value = np.linalg.norm(v)
    return value, centred @ (v / value)


def nnm(distances, product):
    def rule(x, f):
        keep = len(x) - f
        near = np.argpartition(distances(x), keep - 1, axis=1)[:, :keep]
        if product:
            w = np.zeros((len(x), len(x)), x.dtype)
            np.put_along_axis(w, near, np.float32(1 / keep), axis=1)
            return (w @ x).mean(axis=0)
        return np.stack([x[s].mean(axis=0) for s in near]).mean(axis=0)
    return rule


def cclip(x, start):
    v, tau = start, None
    for _ in range(3):
        difference = x - v
        norm = np.linalg.norm(difference, axis=1)
        tau = np.median(norm) if tau is None else tau
        v = v + (difference * clip_factors(norm, tau)[:, None]).mean(axis=0)
    return v


def cclip_blas(x, start):
    v, tau, square = start, None, squares(x)
    for _ in range(3):
        norm = np.sqrt(np.maximum(square - 2 * (x @ v) + v @ v, 0))
        tau = np.median(norm) if tau is None else tau
        s = clip_factors(norm, tau) / np.float32(len(x))
        v = v + s @ x - s.sum() * v
    return v


def zeros(x):
    return np.zeros(x.shape[1], x.dtype)


def least_norm(x, f, centre=0):
    norm = np.linalg.norm(x - centre, axis=1)
    return x[np.argsort(norm)[:len(x) - f]].mean(axis=0)


def least_norm_blas(x, f, pivot=None):
    square = squares(x)
    if pivot is not None:
        square = square - 2 * (x @ x[pivot])
    return mean_of(x, np.argpartition(square, len(x) - f - 1)[:len(x) - f])


def clipped(x, radius):
    norm = np.linalg.norm(x, axis=1)
    return (x * clip_factors(norm, radius(norm))[:, None]).mean(axis=0)


def clipped_blas(x, radius):
    norm = np.sqrt(squares(x))
    return clip_factors(norm, radius(norm)) / np.float32(len(x)) @ x


def bucketing(x, f):
    order = np.random.default_rng(0).permutation(len(x))
    return x[order].reshape(len(x) // 2, 2, -1).mean(axis=1).mean(axis=0)


def bucketing_blas(x, f):
    order = np.random.default_rng(0).permutation(len(x))
    w = np.zeros((len(x) // 2, len(x)), x.dtype)
    w[np.arange(len(x)) // 2, order] = 0.5
    return (w @ x).mean(axis=0)


def half_norm(x):
    return lambda norm: 0.5 * math.sqrt(x.shape[1])


def few_subsets(n, f):
    return math.comb(n, f) <= SUBSETS


# name: formulations (kind, what, function); kind "crude" is shown, but not the same answer
RULES = {
    "mean": [("BLAS", "ones @ x", lambda x, f: mean_of(x, range(len(x)))),
             ("library", "mean", lambda x, f: x.mean(axis=0))],
    "CWMed": [("library", "median", lambda x, f: np.median(x, axis=0))],
    "CWTM": [("library", "sort", lambda x, f: np.sort(x, axis=0)[f:len(x) - f].mean(axis=0)),
             ("library", "partition", lambda x, f: np.partition(
                 x, (f, len(x) - f - 1), axis=0)[f:len(x) - f].mean(axis=0))],
    "MeaMed": [("library", "argpartition", lambda x, f: closest_to_median(x, len(x) - f))],
    "CGE": [("BLAS", "weights @ x", least_norm_blas), ("library", "norms", least_norm)],
    "MoNNA": [("BLAS", "x @ pivot", lambda x, f: least_norm_blas(x, f, 0)),
              ("library", "norms", lambda x, f: least_norm(x, f, x[0]))],
    "CClip": [("BLAS", "x @ v", lambda x, f: cclip_blas(x, np.median(x, axis=0))),
              ("library", "differences", lambda x, f: cclip(x, np.median(x, axis=0)))],
    "CClip, start given": [("BLAS", "x @ v", lambda x, f: cclip_blas(x, zeros(x))),
                           ("library", "differences", lambda x, f: cclip(x, zeros(x)))],
    "Krum": [("BLAS", "Gram", krum(gram_distances)), ("library", "pairs", krum(pair_distances))],
    "Multi-Krum": [("BLAS", "Gram", multi_krum(gram_distances)),
                   ("library", "pairs", multi_krum(pair_distances))],
    "MDA": [("BLAS", "Gram, subsets", mda(gram_distances)),
            ("library", "pairs, subsets", mda(pair_distances))],
    "GM": [("BLAS", "Gram, Weiszfeld", gm_gram), ("library", "Weiszfeld", gm(256, 1e-12)),
           ("crude", "3 steps", gm(3, 0.1))],
    "Bulyan": [("BLAS", "Gram", bulyan(gram_distances)),
               ("library", "pairs", bulyan(pair_distances))],
    "CAF": [("BLAS", "Gram, eigh", caf), ("library", "power", lambda x, f: caf(x, f, False))],
    "SMEA": [("BLAS", "Gram, subsets", smea_gram), ("library", "subsets", smea)],
    "NNM + mean": [("BLAS", "Gram, W @ x", nnm(gram_distances, True)),
                   ("library", "pairs, rows", nnm(pair_distances, False))],
    "bucketing + mean": [("BLAS", "W @ x", bucketing_blas), ("library", "reshape", bucketing)],
    "clipping + mean": [("BLAS", "weights @ x", lambda x, f: clipped_blas(x, half_norm(x))),
                        ("library", "norms", lambda x, f: clipped(x, half_norm(x)))],
    "ARC + mean": [
        ("BLAS", "weights @ x", lambda x, f: clipped_blas(x, lambda norm: arc_radius(norm, f))),
        ("library", "norms", lambda x, f: clipped(x, lambda norm: arc_radius(norm, f)))],
}

# ---- timing


class TooLong(Exception):
    pass


def give_up(*_):
    raise TooLong


def peer_seconds(rule, x, f, times):
    """This thread's seconds for a call, infinite if it was given up, and the answer."""
    signal.signal(signal.SIGPROF, give_up)  # ours has its own
    signal.setitimer(signal.ITIMER_PROF, CUT)
    try:
        start = time.thread_time()
        for _ in range(times):
            out = rule(x, f)
        return (time.thread_time() - start) / times, out
    except (TooLong, MemoryError):
        return math.inf, None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class Ours:
    """bench/peers.c: the same rows, in the same process."""

    def __init__(self, path):
        self.c = ctypes.CDLL(os.path.abspath(path))
        self.c.peers_open.restype = ctypes.c_void_p
        for name in ("peers_seconds", "peers_read", "peers_arithmetic"):
            getattr(self.c, name).restype = ctypes.c_double
        self.c.peers_f.restype = ctypes.c_size_t

    def open(self, name, x, f):
        size = map(ctypes.c_size_t, (len(x), f, x.shape[1]))
        self.x, self.out = x, np.zeros(x.shape[1], x.dtype)
        self.job = ctypes.c_void_p(self.c.peers_open(
            name.encode(), *size, ctypes.c_void_p(x.ctypes.data)))
        return self.c.peers_f(self.job)

    def seconds(self, times):
        seconds = self.c.peers_seconds(self.job, ctypes.c_int(times), ctypes.c_uint(CUT),
                                       ctypes.c_void_p(self.out.ctypes.data))
        self.done = seconds < math.inf
        return seconds

    def read(self, times):
        return self.c.peers_read(self.job, ctypes.c_int(times))

    def arithmetic(self):
        return self.c.peers_arithmetic(self.job)

    def close(self):
        self.c.peers_close(self.job)


def calls_a_sample(seconds):
    return int(100e-6 / (seconds + 1e-7)) + 1


def agrees(a, b):
    return bool(np.abs(a - b).max() <= 2e-3 * (1 + np.abs(a).max()))


class Entry:
    """The least time of one formulation."""

    def __init__(self, kind, what, run):
        self.kind, self.what, self.run = kind, what, run
        self.least, self.spent, self.times, self.same = math.inf, 0.0, 1, True

    def sample(self):
        seconds = self.run(self.times)
        self.least = min(self.least, seconds)
        self.spent += seconds * self.times if seconds < math.inf else math.inf
        self.times = calls_a_sample(self.least)


def peer_entry(kind, what, rule, x, f, ours):
    entry = Entry(kind, what, None)

    def run(times):
        seconds, out = peer_seconds(rule, x, f, times)
        entry.same = out is None or not ours.done or agrees(ours.out, out)
        return seconds
    entry.run = run
    return entry


def race(name, x, f, ours):
    """All formulations in turns, each until its time is spent."""
    f = ours.open(name, x, f)
    mine, read = Entry("ours", "", ours.seconds), Entry("read", "", ours.read)
    peers = [peer_entry(kind, what, rule, x, f, ours) for kind, what, rule in RULES[name]
             if "subsets" not in what or few_subsets(len(x), f)]
    entries = [mine, read, *peers]
    for _ in range(200):
        for entry in entries:
            if entry.spent < BUDGET:
                entry.sample()
        if all(entry.spent >= BUDGET for entry in entries):
            break
    limit = max(read.least, ours.arithmetic())
    ours.close()
    return f, mine.least, limit, peers


# ---- the table


def show(seconds):
    if seconds == math.inf:
        return f"> {CUT} s"
    ms = seconds * 1e3
    value, unit = (ms * 1e3, "us") if ms < 0.1 else (ms, "ms")
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"


def best(peers, kind):
    return min((p for p in peers if p.kind == kind), key=lambda p: p.least, default=None)


def verdict(peer, ours, limit, goal):
    """Nobody is goal times faster than a peer that is itself within goal times the limit."""
    if peer is None or goal is None:
        return ""
    if ours < math.inf and peer.least >= goal * ours:
        return "holds"
    return "limit" if peer.least <= goal * limit else f"MISSED {goal}"


def cells(peer, ours, limit, goal):
    if peer is None:
        return ["", "", ""]
    text = ""
    if ours < math.inf:
        text = f"{peer.least / ours:.1f}" if peer.least < math.inf else f"> {CUT / ours:.0f}"
    return [f"{show(peer.least)} ({peer.what}{'' if peer.same else ', differs'})", text,
            verdict(peer, ours, limit, goal)]


HEAD = ["n, f, d", "rule", "ours", "limit", "best BLAS form", "BLAS/ours", "goal",
        "best library form", "library/ours", "goal"]


def table_row(size, name, ours):
    n, f, dim = size
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, dim), dtype=np.float32)
    x[1:f + 1] += np.float32(0.5)
    used, mine, limit, peers = race(name, x, f, ours)
    if any(peer.least < limit for peer in peers):
        limit = 0.0  # it has another algorithm, so ours was no limit
    library_goal = GOAL_LIBRARY if size == GOAL_LIBRARY_SIZE else None
    crude = best(peers, "crude")
    return [f"{n}, {used}, {dim}", name, show(mine), show(limit) if limit else "-",
            *cells(best(peers, "BLAS"), mine, limit, GOAL_BLAS),
            *cells(best(peers, "library"), mine, limit, library_goal)], crude


WIDTHS = (17, 19, 9, 9, 31, 11, 9, 31, 14, 9)


def print_row(row):
    print("".join(f"{cell:<{w}}" for cell, w in zip(row, WIDTHS)).rstrip(), flush=True)


def write_table(out, head, rows):
    for row in [head, ["---"] * len(head), *rows]:
        out.write("| " + " | ".join(row) + " |\n")


def number(cell):
    """The value of "1.2", "> 40", "" in a cell."""
    return float(cell.lstrip("> ")) if cell else math.inf


def row_of(rows, name, size):
    """size: (n, d); f may have been lowered."""
    want = tuple(map(str, size))
    return next((r for r in rows if r[1] == name and want == tuple(r[0].split(", ")[::2])), None)


def short_row(rows, name, sizes):
    """Ours, and how much longer the best numpy takes, at each size."""
    cells = [name]
    for row in (row_of(rows, name, size) for size in sizes):
        cells += [row[2], min(row[5], row[8], key=number) or "-"] if row else ["-", "-"]
    return cells


def write_markdown(path, rows):
    """The whole table, then the one of README."""
    sizes = list(dict.fromkeys((n, dim) for n, f, dim in (QUICK_SIZES if QUICK else SIZES)))[::2]
    head = ["rule"] + [text for n, dim in sizes for text in (f"n = {n}, d = {dim}", "numpy")]
    with open(path, "w", encoding="utf-8") as out:
        write_table(out, HEAD, rows)
        out.write("\nfor README:\n\n")
        write_table(out, head, [short_row(rows, name, sizes) for name in RULES])
    print(f"written: {path}")


def run(library, markdown, only, sizes):
    ours, rows, told = Ours(library), [], time.monotonic()
    print(f"numpy {np.__version__}, python {sys.version.split()[0]}; goals: {GOAL_BLAS} times as "
          f"fast as BLAS forms, {GOAL_LIBRARY} times library forms at n, f, d = "
          f"{GOAL_LIBRARY_SIZE}\n\"limit\": no program could be: the peer is that near to the "
          "machine's limit")
    print_row(HEAD)
    for size in sizes:
        for name in RULES:
            if only and name != only:
                continue
            if time.monotonic() - told > 2:
                told = time.monotonic()
                print(f"  ... {name}, n={size[0]} d={size[2]}", file=sys.stderr)
            row, crude = table_row(size, name, ours)
            rows.append(row)
            print_row(row)
            if crude:
                print(f"{'':15}  not the same answer: {crude.what}, {show(crude.least)}")
    if markdown:
        write_markdown(markdown, rows)


def main():
    arguments, only, sizes = sys.argv[1:], None, QUICK_SIZES if QUICK else SIZES
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    while arguments and arguments[0].startswith("--"):
        if len(arguments) < 2 or arguments[0] not in ("--only", "--size"):
            print(__doc__)
            return 2
        if arguments[0] == "--only":
            only = arguments[1]
        else:
            sizes = (tuple(map(int, arguments[1].split(","))),)
        arguments = arguments[2:]
    library = arguments[0] if arguments else "build/bench/O2/peers.so"
    if not os.path.exists(library):
        print(f"there is no {library}: make peers builds it")
        return 1
    run(library, arguments[1] if len(arguments) > 1 else None, only, sizes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
