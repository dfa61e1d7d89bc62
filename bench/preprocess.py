"""Measures pre-processing of images against OpenCV, both in turn in one run, with so many threads each.

    pip install numpy opencv-python-headless
    cmake --build build/release --target tenon_bench_preprocess
    python bench/preprocess.py                    # --threads 2 --rounds 12 --seconds 0.3 --json result.json

A picture becomes 640x640, letterboxed, from BGR to RGB, in planes of float32 from 0 to 1. OpenCV's way is what
Ultralytics does: resize, copyMakeBorder, then channels, planes and floats, the last by NumPy or blobFromImage,
whichever is faster. Medians are printed, in milliseconds, and the largest difference of the results in grey levels.
"""
import argparse
import json
import os
import pathlib
import statistics
import struct
import subprocess
import tempfile
import time

import cv2
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
TURNED = np.array([[2.77, -1.15, 300], [1.15, 2.77, -200]], np.float32)


def save(path, array):
    path.write_bytes(struct.pack("<III", 0xFCCFE2E2, array.ndim, 3) + struct.pack(f"<{array.ndim}i", *array.shape)
                     + array.tobytes())


def load(path):
    head = np.fromfile(path, np.int32, 16)
    rank, kind = head[1], head[2]
    data = np.fromfile(path, np.float16 if kind == 1 else np.float32, offset=12 + 4 * rank)
    return data.reshape(head[3:3 + rank]).astype(np.float32)


def picture(height, width):
    """Like a photograph: smooth, with edges and some noise."""
    random = np.random.default_rng(1)
    small = random.integers(0, 256, (height // 40, width // 40, 3)).astype(np.uint8)
    large = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC).astype(np.int16)
    return np.clip(large + random.integers(-6, 7, large.shape), 0, 255).astype(np.uint8)


def planes_by_numpy(image):
    return np.ascontiguousarray(image[..., ::-1].transpose(2, 0, 1)).astype(np.float32)[None] / 255


def planes_by_blob(image):
    return cv2.dnn.blobFromImage(image, 1 / 255, swapRB=True)


def letterboxed(image):
    height, width = image.shape[:2]
    scale = min(640 / height, 640 / width)
    inner = round(width * scale), round(height * scale)
    left, top = round((640 - inner[0]) / 2 - .1), round((640 - inner[1]) / 2 - .1)
    return cv2.copyMakeBorder(cv2.resize(image, inner, interpolation=cv2.INTER_LINEAR), top, 640 - inner[1] - top,
                              left, 640 - inner[0] - left, cv2.BORDER_CONSTANT, value=(114, 114, 114))


def warped(image, matrix, extent):
    return cv2.warpAffine(image, matrix, (extent, extent), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
                          borderMode=cv2.BORDER_CONSTANT, borderValue=(114, 114, 114))


def centred(image):
    height, width = image.shape[:2]
    scale = 1 / min(640 / height, 640 / width)
    shift = [a / 2 - 320 * scale - (1 - scale) / 2 for a in (width, height)]
    return warped(image, np.array([[scale, 0, shift[0]], [0, scale, shift[1]]]), 640)


def ways(image, yuv):
    """Case -> what OpenCV does, once for each way to planes."""
    def both(make):
        return [lambda: planes_by_numpy(make()), lambda: planes_by_blob(make())]
    return {
        "letterbox": both(lambda: letterboxed(image)),
        "letterbox_half": [lambda: planes_by_numpy(letterboxed(image)).astype(np.float16),
                           lambda: planes_by_blob(letterboxed(image)).astype(np.float16)],
        "letterbox_centred": both(lambda: centred(image)),
        "letterbox_nv12": both(lambda: letterboxed(cv2.cvtColor(yuv, cv2.COLOR_YUV2BGR_NV12))),
        "warp_affine": both(lambda: warped(image, TURNED, 640)),
        "face": both(lambda: warped(image, TURNED, 112)),
        "nv12_to_bgr": [lambda: cv2.cvtColor(yuv, cv2.COLOR_YUV2BGR_NV12)],
    }


def times_of(run, seconds):
    times, start = [], time.perf_counter()
    while time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        run()
        times.append((time.perf_counter() - begin) * 1e3)
    return times


def measure(height, width, options):
    image = picture(height, width)
    yuv = cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420)
    chroma = yuv[height:].reshape(2, -1)
    yuv = np.concatenate([yuv[:height].ravel(), chroma.T.ravel()]).reshape(height * 3 // 2, width)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        save(folder / "bgr.tensor", image)
        save(folder / "yuv.tensor", yuv)
        worker = subprocess.Popen([options.worker, folder / "bgr.tensor", folder / "yuv.tensor", folder],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "TENON_THREADS": str(options.threads)})
        for name, peers in ways(image, yuv).items():
            if options.cases and name not in options.cases:
                continue
            ours, theirs = [], [[] for _ in peers]
            for _ in range(options.rounds):
                worker.stdin.write(f"run {options.seconds} {name}\n")
                worker.stdin.flush()
                ours += json.loads(worker.stdout.readline())
                for times, run in zip(theirs, peers):
                    times += times_of(run, options.seconds / len(peers))
            result = folder / f"{name}.tensor"
            level = float(np.abs(load(result) - peers[0]().astype(np.float32)).max() * 255) if result.exists() else None
            ms, peer = statistics.median(ours), min(statistics.median(times) for times in theirs)
            rows.append({"picture": f"{width}x{height}", "case": name, "ms": ms, "opencv_ms": peer, "ratio": peer / ms,
                         "min_ms": min(ours), "opencv_min_ms": min(map(min, theirs)), "grey_levels": level})
            print("{picture:>10} {case:18} {ms:8.3f} {opencv_ms:8.3f} {ratio:6.2f}".format(**rows[-1]),
                  f"{rows[-1]['min_ms']:8.3f} {rows[-1]['opencv_min_ms']:8.3f}",
                  "" if level is None else f"{level:6.2f}", flush=True)
        worker.stdin.close()
        worker.wait()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=.3, help="of each side in a round")
    parser.add_argument("--cases", nargs="*")
    parser.add_argument("--worker", default=ROOT / "build/release/bench/tenon_bench_preprocess")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    cv2.setNumThreads(options.threads)
    print(f"OpenCV {cv2.__version__}, {options.threads} threads: median, OpenCV's, ratio; least, OpenCV's; difference")
    rows = [row for height, width in ((1080, 1920), (1536, 2048)) for row in measure(height, width, options)]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
