#!/bin/sh
# Builds the plugins for the CPU and checks them: check.sh [order] [address] [race]; without modes, in all.
# TENON is the folder that Tenon is installed into.
set -eu
cd "$(dirname "$0")"
: "${TENON:?is not set: the folder that Tenon is installed into}"
[ "$#" -gt 0 ] || set -- order address race
for mode in "$@"; do
  case $mode in
    order) sanitizer= ;;
    address) sanitizer=address ;;
    race) sanitizer=thread ;;
    *) echo "check.sh: unknown mode $mode: use order, address or race" >&2; exit 2 ;;
  esac
  cmake -B "build/$mode" -DCMAKE_TOOLCHAIN_FILE="$TENON/hostcuda/cmake/tenon-cuda-toolchain.cmake" \
    -DTENON_SANITIZE="$sanitizer" -DTENSORRT_ROOT="$TENON"
  cmake --build "build/$mode"
  "$TENON/bin/tenon" plugins check "build/$mode/libadd_layer_norm.so" --cases=cases.json --mode="$mode"
done
