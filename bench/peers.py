#!/usr/bin/env python3
"""Times numpy and torch formulations of the rules beside aggregators.h: ms and ratios from one run,
one thread.

usage: peers.py [bench_binary]        (default: what make bench built; it is run with --ms)

Optional: without numpy it says so and succeeds. The formulations are the usual short ones, with the
definitions of aggregators.h; they are not anybody's library. numpy is as fast at Krum as the BLAS
it is linked with.
"""
import itertools
import math
import os
import subprocess
import sys
import time

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"  # before numpy is loaded

BINARIES = ("build/bench/native/aggregators", "build/bench/O2/aggregators")
SIZES = ((10, 3, 1000000), (50, 15, 100000), (100, 30, 100000))
MDA_SUBSETS = 10 ** 6  # beyond this many subsets enumeration is not worth waiting for


def least_diameter(d, f):
    """The (n-f)-subset of least diameter by trying them all; d: n x n numpy array of distances."""
    subsets = map(list, itertools.combinations(range(len(d)), len(d) - f))
    return min(subsets, key=lambda s: d[s][:, s].max())


def weiszfeld(x, z, radii):
    """The geometric median, from z; radii(z): distances of the rows. No proof of its gap."""
    last = math.inf
    for _ in range(1000):
        r = radii(z)
        z, value = (1 / r) @ x / (1 / r).sum(), float(r.sum())
        if last - value <= 1e-7 * value:
            break
        last = value
    return z


def numpy_rules(np):
    def sq_distances(x):  # subtract, then square
        d = np.zeros((len(x), len(x)), np.float32)
        for i, j in itertools.combinations(range(len(x)), 2):
            difference = x[i] - x[j]
            d[i, j] = d[j, i] = difference @ difference
        return d

    def gram_distances(x):  # the fast way, which loses everything when rows share a large offset
        g = x @ x.T
        return g.diagonal()[:, None] + g.diagonal() - 2 * g

    def trimmed(x, f):
        return np.sort(x, axis=0)[f:len(x) - f].mean(axis=0)

    def meamed(x, f):
        gap = np.abs(x - np.median(x, axis=0))
        keep = np.argpartition(gap, len(x) - f - 1, axis=0)[:len(x) - f]
        return np.take_along_axis(x, keep, axis=0).mean(axis=0)

    def krum(x, f, distances=sq_distances):
        return x[np.sort(distances(x), axis=1)[:, :len(x) - f].sum(axis=1).argmin()]

    def gm(x, f):
        def radii(z):
            return np.maximum(np.sqrt(((x - z) ** 2).sum(axis=1)), 1e-12)
        return weiszfeld(x, x.mean(axis=0), radii)

    def mda(x, f):
        return x[least_diameter(sq_distances(x), f)].mean(axis=0)

    return {"mean": lambda x, f: x.mean(axis=0), "CWMed": lambda x, f: np.median(x, axis=0),
            "CWTM": trimmed, "MeaMed": meamed, "Krum": krum,
            "Krum by Gram": lambda x, f: krum(x, f, gram_distances), "GM": gm, "MDA": mda}


def torch_rules(torch):
    def sq_distances(x, mode="donot_use_mm_for_euclid_dist"):
        return torch.cdist(x, x, compute_mode=mode) ** 2

    def median(x, f):
        s = x.sort(dim=0).values
        return (s[(len(x) - 1) // 2] + s[len(x) // 2]) / 2

    def trimmed(x, f):
        return x.sort(dim=0).values[f:len(x) - f].mean(dim=0)

    def meamed(x, f):
        keep = (x - median(x, f)).abs().topk(len(x) - f, dim=0, largest=False).indices
        return x.gather(0, keep).mean(dim=0)

    def krum(x, f, mode="donot_use_mm_for_euclid_dist"):
        return x[sq_distances(x, mode).sort(dim=1).values[:, :len(x) - f].sum(dim=1).argmin()]

    def gm(x, f):
        return weiszfeld(x, x.mean(dim=0), lambda z: (x - z).norm(dim=1).clamp_min(1e-12))

    def mda(x, f):
        return x[least_diameter(sq_distances(x).numpy(), f)].mean(dim=0)

    return {"mean": lambda x, f: x.mean(dim=0), "CWMed": median, "CWTM": trimmed,
            "MeaMed": meamed, "Krum": krum,
            "Krum by Gram": lambda x, f: krum(x, f, "use_mm_for_euclid_dist"), "GM": gm, "MDA": mda}


def least_ms(rule, x, f, budget=2.0):
    """The least of at most five runs, fewer if they are slow; processor time, as ours is."""
    best, spent = math.inf, 0.0
    for _ in range(5):
        start = time.process_time()
        rule(x, f)
        seconds = time.process_time() - start
        best, spent = min(best, seconds), spent + seconds
        if spent > budget:
            break
    return best * 1e3


def ours(binary):
    """{(rule, n, f, dim): ms} from the benchmark program, or {} if it is not there."""
    if not binary or not os.path.exists(binary):
        print("no benchmark program: run make bench first; ratios are left out")
        return {}
    print("ours:", binary)
    text = subprocess.run([binary, "--ms"], check=True, stdout=subprocess.PIPE,
                          universal_newlines=True).stdout
    table = {}
    for line in text.splitlines():
        name, n, f, dim, ms = line.rsplit(None, 4)
        table[name, int(n), int(f), int(dim)] = float(ms)
    return table


def print_size(size, np, libraries, mine):
    n, f, dim = size
    print(f"\nn={n} f={f} d={dim}    milliseconds (times ours)")
    print("rule          " + "".join(f"{name:>24}" for name in ["ours", *libraries]), flush=True)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, dim), dtype=np.float32)
    x[n - f:] += np.float32(0.5)
    for rule in ("mean", "CWMed", "CWTM", "MeaMed", "Krum", "Krum by Gram", "GM", "MDA"):
        reference = mine.get((rule.split()[0], n, f, dim))
        cells = [f"{reference:.2f}" if reference else "-"]
        for convert, rules in libraries.values():
            if rule == "MDA" and math.comb(n, f) > MDA_SUBSETS:
                cells.append(f"10^{math.log10(math.comb(n, f)):.0f} subsets")
                continue
            ms = least_ms(rules[rule], convert(x), f)
            cells.append(f"{ms:.1f} ({ms / reference:.1f} x)" if reference else f"{ms:.1f}")
        print(f"{rule:<14}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


def main():
    if len(sys.argv) > 2 or sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return 0 if len(sys.argv) == 2 else 2
    try:
        import numpy as np
    except ImportError:
        print("peers.py: numpy is not installed, nothing to compare with")
        return 0
    libraries = {"numpy " + np.__version__: (lambda x: x, numpy_rules(np))}
    try:
        import torch
        torch.set_num_threads(1)
        libraries["torch " + torch.__version__] = (torch.from_numpy, torch_rules(torch))
    except ImportError:
        print("torch is not installed: numpy only")
    built = next(filter(os.path.exists, BINARIES), None)
    mine = ours(sys.argv[1] if len(sys.argv) == 2 else built)
    for size in SIZES:
        print_size(size, np, libraries, mine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
