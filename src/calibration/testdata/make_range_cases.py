"""Writes ranges.inc: the ranges that NumPy finds for a few distributions, by each search, spelled out plainly.

Run: python src/calibration/testdata/make_range_cases.py   (needs numpy)
"""
import pathlib

import numpy as np

BINS = 2048
COUNT = 20000


def samples(name):
    """As range_search_test.cc makes them, in double and then in float32."""
    u = (np.arange(COUNT) + 0.5) / COUNT
    return {
        "uniform": 3 * u,
        "heavy": u / (1.001 - u),
        "relu": np.maximum(0, (u - 0.5) / (1.001 - u)),
        "outlier": np.append(u, 40.0),
    }[name].astype(np.float32)


def entropy(counts, largest):
    counts = counts.astype(np.float64)
    counts[0] = counts[1]
    width = largest / BINS
    best = (np.inf, None)
    for bins in range(128, BINS + 1):
        inside = counts[:bins]
        p = inside.copy()
        p[-1] += counts[bins:].sum()
        level = np.arange(bins) * 128 // bins
        filled = inside > 0
        sums = np.bincount(level, inside, 128)
        members = np.bincount(level, filled, 128)
        q = np.where(filled, sums[level] / np.maximum(members[level], 1), 0)
        if np.any((p > 0) & (q == 0)):
            continue
        p, q = p / p.sum(), q / q.sum()
        some = p > 0
        best = min(best, (np.sum(p[some] * np.log(p[some] / q[some])), -bins))
    bins = -best[1]
    return (bins + 0.5) * width


def squared_error(counts, largest):
    width = largest / BINS
    centres = (np.arange(BINS) + 0.5) * width
    ranges = [end * width for end in range(128, BINS + 1)]

    def error(r):
        scale = r / 127
        return np.sum(counts * (centres - np.minimum(np.round(centres / scale), 127) * scale) ** 2)

    return min(ranges, key=error)


def regression(counts, largest, cutoff):
    first = int(cutoff * BINS)
    slope, offset = np.polyfit(np.arange(first, BINS) + 0.5, counts[first:], 1)
    return min(-offset / slope * largest / BINS, largest) if slope < 0 else largest


def main():
    lines = ["// Made by make_range_cases.py."]
    for name in ("uniform", "heavy", "relu", "outlier"):
        values = np.abs(samples(name))
        largest = float(values.max())
        counts, _ = np.histogram(values, BINS, (0, largest))
        found = [entropy(counts, largest), largest, np.quantile(values, 0.99), squared_error(counts, largest),
                 regression(counts, largest, 0.25)]
        lines.append(f'{{"{name}", ' + ", ".join(f"{number:.9g}" for number in found) + "},")
    (pathlib.Path(__file__).parent / "ranges.inc").write_text("\n".join(lines) + "\n")


main()
