"""Writes einsum.json: Einsum as ONNX Runtime computes it.

Run: python src/import/testdata/make_einsum_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np

from node_cases import case, floats, integers, write


def add(equation, *shapes, static=None, expected=None, dtype=None):
    inputs = [floats(*s) if dtype is None else integers(*s, dtype=dtype) for s in shapes]
    want = None if not expected else [np.einsum(equation.replace(" ", ""), *inputs)]
    case("Einsum", equation, inputs, domain="", opset=13, equation=equation, static=static,
         expected=want)


add("ij,jk->ik", (3, 4), (4, 5))
add("ij,kj->ik", (3, 4), (5, 4))
add("ji,jk", (4, 3), (4, 5))
add("ij,jk->ki", (3, 4), (4, 5))
add("bij,bjk->bik", (2, 3, 4), (2, 4, 5))
add("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5))
add("bhij,bhjd->bhid", (2, 3, 4, 6), (2, 3, 6, 5))
add("bihd,bjhd->bhij", (2, 4, 3, 5), (2, 6, 3, 5))
add("bihd,hdo->bio", (2, 4, 3, 5), (3, 5, 7))
add("bio,hdo->bhid", (2, 4, 7), (3, 5, 7))
add("abc,cd,de->abe", (2, 3, 4), (4, 5), (5, 6))
add("i,i->", (5,), (5,))
add("i,j->ij", (5,), (4,))
add("i,j->ji", (5,), (4,))
add("ij->ji", (3, 4))
add("ij->i", (3, 4))
add("ij->", (3, 4))
add("ii->i", (4, 4))
add("ii", (4, 4))
add("iji->j", (3, 4, 3))
add("bii->bi", (2, 3, 3))
add("iijj->ij", (3, 3, 2, 2), expected=True)
add("ij,ij->ij", (3, 4), (3, 4))
add("ij,ij->i", (3, 4), (3, 4))
add("ij,j->ij", (3, 4), (4,))
add("ijk,ilm->jm", (2, 3, 4), (2, 5, 6))
add("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5))
add("...ij,jk->...ik", (2, 6, 3, 4), (4, 5))
add("...ij,...jk->...ik", (2, 1, 3, 4), (6, 4, 5), static=True,
    expected=True)
add("...,...->...", (2, 3), (2, 3))
add("b...j->b...", (2, 3, 4))
add("...i->...", (2, 3, 4))
add("i...->...i", (2, 3, 4))
add(" i j , j k -> i k ", (3, 4), (4, 5))
add("Aa,aB->AB", (3, 4), (4, 5))
add("ij,jk->ik", (3, 4), (4, 5), dtype=np.int64)
add("ij,jk,kl,lm->im", (2, 3), (3, 4), (4, 5), (5, 2))
add("ij,k->ij", (3, 4), (5,))
add("ij,jk->ik", (0, 4), (4, 5))

write("einsum")
