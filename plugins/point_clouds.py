"""Clouds of points, for cases of plugins on them. Needs NumPy."""
import numpy


def cloud(random, batch, count, most=64):
    # Multiples of 1/4, so that fp16 holds the points, and float the squares of distances.
    return random.randint(-most, most + 1, (batch, count, 3)).astype("float32") / 4


def squares(a, b):
    """(B, M, N): of the distances of each of a from each of b."""
    return ((a[:, :, None].astype("float64") - b[:, None]) ** 2).sum(-1)
