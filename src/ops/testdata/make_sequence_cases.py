"""Writes einsum.json and attention.json: the layers' results by NumPy in float64.

Run: python src/ops/testdata/make_sequence_cases.py   (needs numpy)
"""
import json
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent
random = np.random.default_rng(1)


def floats(*shape):
    return (random.integers(-32, 32, shape, endpoint=True) / 16).astype(np.float32)


def as_json(array):
    if array is None:
        return None
    values = [int(v) if array.dtype.kind in "iub" else float(f"{v:.7g}") if np.isfinite(v)
              else str(float(v)) for v in array.ravel()]
    return {"type": str(array.dtype), "shape": list(array.shape), "data": values}


def write(name, cases):
    lines = ",\n".join(json.dumps(c) for c in cases)
    (FOLDER / f"{name}.json").write_text(f"[\n{lines}\n]\n")


def einsum(equation, *shapes):
    inputs = [floats(*s) for s in shapes]
    y = np.einsum(equation, *[i.astype(np.float64) for i in inputs]).astype(np.float32)
    return {"name": equation, "op": "Einsum", "attributes": {"equation": equation},
            "inputs": [as_json(i) for i in inputs], "outputs": [as_json(y)],
            "static": "..." in equation}


write("einsum", [
    einsum("ij,jk->ik", (3, 4), (4, 5)), einsum("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)),
    einsum("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)), einsum("ii->i", (4, 4)), einsum("ii", (4, 4)),
    einsum("i,j->ji", (3,), (4,)), einsum("ij->ji", (3, 4)), einsum("ij->", (3, 4)),
    einsum("ij,ij->i", (3, 4), (3, 4)), einsum("...ij,jk->...ik", (2, 3, 4), (4, 5)),
    einsum("...ij,...jk->...ik", (2, 1, 3, 4), (3, 4, 5)), einsum("ij,jk->ik", (0, 4), (4, 5))])


def attention(name, q, k, v, mask=None, lengths=None, offsets=None, **attributes):
    a = {"scale": 1.0, "softcap": 0.0, "causal": False, "left_window": -1, "right_window": -1,
         "normalization": 1, **attributes}
    groups = q.shape[1] // k.shape[1]
    kk, vv = (np.repeat(x.astype(np.float64), groups, 1) for x in (k, v))
    s = q.astype(np.float64) @ kk.swapaxes(2, 3) * a["scale"]
    if a["softcap"]:
        s = a["softcap"] * np.tanh(s / a["softcap"])
    seen = np.ones(s.shape, bool)
    i = np.arange(q.shape[2])[:, None] + (0 if offsets is None else offsets.reshape(-1, 1, 1, 1))
    j = np.arange(k.shape[2])[None, :]
    if a["causal"]:
        seen &= j <= i
    if a["left_window"] >= 0:
        seen &= j >= i - a["left_window"]
    if a["right_window"] >= 0:
        seen &= j <= i + a["right_window"]
    if lengths is not None:
        seen &= j < lengths.reshape(-1, 1, 1, 1)
    if mask is not None and mask.dtype == bool:
        seen &= mask
    elif mask is not None:
        s = s + mask
    if a["normalization"]:
        e = np.where(seen, np.exp(s - s.max(-1, keepdims=True, initial=-1e30)), 0)
        total = e.sum(-1, keepdims=True)
        s = np.where(total > 0, e / np.where(total == 0, 1, total), 0)
    else:
        s = np.where(seen, s, 0)
    inputs = [q, k, v, mask, lengths, offsets]
    while inputs[-1] is None:
        inputs.pop()
    return {"name": name, "op": "Attention", "attributes": attributes, "tolerance": 2.0,
            "inputs": [as_json(x) for x in inputs], "outputs": [as_json((s @ vv).astype(np.float32))]}


Q, K, V = floats(2, 4, 3, 4), floats(2, 2, 5, 4), floats(2, 2, 5, 6)
write("attention", [
    attention("plain", Q, K, V), attention("scale", Q, K, V, scale=0.25),
    attention("softcap", Q, K, V, softcap=2.0), attention("causal", Q, K, V, causal=True),
    attention("causal, offset", Q, K, V, offsets=np.array([2, -1]), causal=True),
    attention("one offset", Q, K, V, offsets=np.array([1]), causal=True),
    attention("lengths", Q, K, V, lengths=np.array([5, 0])),
    attention("window", Q, K, V, left_window=1, right_window=0),
    attention("bool mask", Q, K, V, random.integers(0, 2, (2, 1, 3, 5)).astype(bool)),
    attention("float mask", Q, K, V, floats(4, 1, 5)),
    attention("mask of one number", Q, K, V, floats(1, 1)),
    attention("no softmax", Q, K, V, normalization=0),
    attention("no softmax, causal", Q, K, V, normalization=0, causal=True),
    attention("no queries", floats(2, 4, 0, 4), K, V),
    attention("no keys", Q, floats(2, 2, 0, 4), floats(2, 2, 0, 6), lengths=np.array([0, 0]))])
