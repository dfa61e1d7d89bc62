#!/usr/bin/env bash
# Shrinks a photo to a third and super-resolves it back: build a plan, run it, compare.
# `tenon` must be on PATH and Pillow in the Python that PYTHON names. Pictures go to out/demo.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
python=${PYTHON:-$root/.venv/bin/python}
out=${1:-$root/out/demo}
photo=photos/astronaut.jpg
mkdir -p "$out"

bold() { if [ -t 1 ]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n%s\n' "$*"; fi; }
show() { printf '$ %s\n' "$*"; "$@"; }

bold "1. Build: an ONNX model with an operator that TensorRT does not know becomes a plan"
show tenon build srcnn.onnx --saveEngine="$out/srcnn.plan" \
  --minShapes=input:1x3x32x32,factor:1x1x32x32 \
  --optShapes=input:1x3x170x170,factor:1x1x510x510 \
  --maxShapes=input:1x3x512x512,factor:1x1x1536x1536

bold "2. Shrink a photo to a third"
"$python" shrink.py "$photo" "$out/small.jpg"

bold "3. Run: three times larger again"
show tenon run "$out/srcnn.plan" --image=input:"$out/small.jpg" --shapes=factor:1x1x510x510 \
  --save=output:"$out/big.png"

bold "4. Compare with the original"
"$python" compare.py "$photo" "$out/small.jpg" "$out/big.png" --side-by-side="$out/compare.png"
printf '\nPictures:\n'
for picture in small.jpg big.png compare.png; do printf '  %s\n' "$out/$picture"; done
