"""Writes einsum.json and attention.json: the layers' results by NumPy in float64.

Run: python src/ops/testdata/make_sequence_cases.py   (needs numpy)
"""
import numpy as np

from cases import case, floats, random, write


def einsum(equation, *shapes):
    inputs = [floats(*s, low=-2, high=2) for s in shapes]
    y = np.einsum(equation, *[i.astype(np.float64) for i in inputs]).astype(np.float32)
    case("einsum", "Einsum", equation, {"equation": equation}, inputs, y, static="..." in equation)


def einsum_cases():
    einsum("ij,jk->ik", (3, 4), (4, 5))
    einsum("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4))
    einsum("ij,jk,kl->il", (2, 3), (3, 4), (4, 5))
    einsum("ii->i", (4, 4))
    einsum("ii", (4, 4))
    einsum("i,j->ji", (3,), (4,))
    einsum("ij->ji", (3, 4))
    einsum("ij->", (3, 4))
    einsum("ij,ij->i", (3, 4), (3, 4))
    einsum("...ij,jk->...ik", (2, 3, 4), (4, 5))
    einsum("...ij,...jk->...ik", (2, 1, 3, 4), (3, 4, 5))
    einsum("ij,jk->ik", (0, 4), (4, 5))


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
    case("attention", "Attention", name, attributes, inputs, (s @ vv).astype(np.float32),
         tolerance=2.0)


def attention_cases():
    def small(*shape):
        return floats(*shape, low=-2, high=2)
    q, k, v = small(2, 4, 3, 4), small(2, 2, 5, 4), small(2, 2, 5, 6)
    attention("plain", q, k, v)
    attention("scale", q, k, v, scale=0.25)
    attention("softcap", q, k, v, softcap=2.0)
    attention("causal", q, k, v, causal=True)
    attention("causal, offset", q, k, v, offsets=np.array([2, -1]), causal=True)
    attention("one offset", q, k, v, offsets=np.array([1]), causal=True)
    attention("lengths", q, k, v, lengths=np.array([5, 0]))
    attention("window", q, k, v, left_window=1, right_window=0)
    attention("bool mask", q, k, v, random.integers(0, 2, (2, 1, 3, 5)).astype(bool))
    attention("float mask", q, k, v, small(4, 1, 5))
    attention("mask of one number", q, k, v, small(1, 1))
    attention("no softmax", q, k, v, normalization=0)
    attention("no softmax, causal", q, k, v, normalization=0, causal=True)
    attention("no queries", small(2, 4, 0, 4), k, v)
    attention("no keys", q, small(2, 2, 0, 4), small(2, 2, 0, 6), lengths=np.array([0, 0]))


einsum_cases()
attention_cases()
write()
