"""Writes timing caches as timing_cache_fuzz reads them, without magic and checksum: timing_cache_seeds.py FOLDER.

They hold a count of timings (key, milliseconds, kernel's name) and a count of pieces of code (key, bytes).
"""
import pathlib
import struct
import sys


def cache(timings, codes):
    contents = struct.pack("<I", len(timings))
    for name in timings:
        contents += struct.pack("<16sfI", name, 1.5, len(name)) + name
    contents += struct.pack("<I", len(codes))
    for code in codes:
        contents += struct.pack("<16sQ", code, len(code)) + code
    return contents


def main():
    corpus = pathlib.Path(sys.argv[1])
    corpus.mkdir(parents=True, exist_ok=True)
    for timings, codes in (((), ()), ((b"reference",), ()), ((), (b"\x7fELF",)), ((b"softmax", b"plugin/tactic 3"), (b"\x7fELF", b""))):
        (corpus / f"{len(timings)}_{len(codes)}").write_bytes(cache(timings, codes))


main()
