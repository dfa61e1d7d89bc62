"""Deterministic, realistic inputs of the models, as ONNX names them: cases_of(model) -> {case: {input: array}}.

Nothing is random. Text is drawn with Pillow's own font, photos are those of examples/yolo and
examples/super_resolution, sounds are computed.
"""
import pathlib

import numpy as np
from PIL import Image, ImageDraw, ImageFont

ROOT = pathlib.Path(__file__).resolve().parents[2]
PHOTOS = ROOT / "examples/yolo/photos.jpg"
PICTURES = [ROOT / f"examples/super_resolution/photos/{name}.jpg" for name in ("astronaut", "coffee", "chelsea")]
# Left, top, right, bottom: of the astronaut, and of PHOTOS.
FACE, PORTRAIT, CAMERAMAN = (160, 50, 290, 180), (100, 0, 350, 250), (200, 252, 420, 472)
LINE = "Total 1,284.50 EUR"
C_SOURCE = """#include <stdio.h>
int main(int argc, char **argv) {
  for (int i = 0; i < argc; ++i) printf("%s\\n", argv[i]);
  return 0;
}
"""
PYTHON_SOURCE = """import sys


def main():
    for number, name in enumerate(sys.argv):
        print(number, name)


if __name__ == "__main__":
    main()
"""


def to_tensor(picture, mean=0.0, std=1.0, bgr=False):
    """float32 (1, 3, H, W): (pixel / 255 - mean) / std; mean and std per channel, in the tensor's order."""
    pixels = np.asarray(picture.convert("RGB"), np.float32)
    if bgr:
        pixels = pixels[:, :, ::-1]
    values = (pixels / np.float32(255) - np.float32(mean)) / np.float32(std)
    return np.ascontiguousarray(values.transpose(2, 0, 1)[None], np.float32)


def letterboxed(picture, height, width):
    """As large as fits, in the middle of grey."""
    scale = min(width / picture.width, height / picture.height)
    inner = int(picture.width * scale), int(picture.height * scale)
    canvas = Image.new("RGB", (width, height), (128, 128, 128))
    canvas.paste(picture.resize(inner, Image.BICUBIC), ((width - inner[0]) // 2, (height - inner[1]) // 2))
    return canvas


def sampled(pixels, height, width):
    """As cv2.resize: bilinear between the two nearest in each axis, without a mean over what is skipped."""
    for axis, extent in enumerate((height, width)):
        before = pixels.shape[axis]
        at = np.clip((np.arange(extent) + 0.5) * before / extent - 0.5, 0, before - 1)
        low = np.minimum(at.astype(int), before - 2)
        part = (at - low).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        pixels = pixels.take(low, axis) * (1 - part) + pixels.take(low + 1, axis) * part
    return pixels


def sampled_detection(photo, side):
    """As Ultralytics' letterbox prepares a picture that is wider than high."""
    inner = round(photo.height * side / photo.width)
    canvas, top = np.full((side, side, 3), 114.0), (side - inner) // 2
    canvas[top : top + inner] = sampled(np.asarray(photo, float), inner, side)
    tensor = (canvas / 255).astype(np.float32).transpose(2, 0, 1)[None]
    return {"input_1": np.ascontiguousarray(tensor), "image_shape": np.array([[photo.height, photo.width]], np.float32)}


def text_line(text, height, width=0):
    """Black text on white, as wide as it needs, at least `width`."""
    font = ImageFont.load_default(int(height * 0.62))
    _, top, right, bottom = font.getbbox(text)
    picture = Image.new("RGB", (max(right + height // 2, width), height), "white")
    ImageDraw.Draw(picture).text((height // 4, (height - bottom - top) // 2), text, font=font, fill="black")
    return picture


def text_page(width, height, lines, size):
    picture = Image.new("RGB", (width, height), "white")
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(size)
    for row, line in enumerate(lines):
        draw.text((size, size + int(1.9 * size * row)), line, font=font, fill="black")
    return picture


def voice(seconds, rate):
    """Vowels with pauses between: a buzz of falling pitch through three resonances each."""
    time = np.arange(int(seconds * rate)) / rate
    pitch = 130 - 15 * time + 4 * np.sin(2 * np.pi * 5 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    vowels = ((730, 1090, 2440), (270, 2290, 3010), (570, 840, 2410), (530, 1840, 2480))
    sound = np.zeros_like(time)
    for number, formants in enumerate(vowels):
        start = 0.3 + 0.6 * number
        envelope = np.clip(np.minimum((time - start) / 0.05, (start + 0.4 - time) / 0.1), 0, 1)
        for harmonic in range(1, 30):
            frequency = harmonic * pitch
            gain = sum(1 / (1 + ((frequency - f) / (60 + 0.06 * f)) ** 2) for f in formants)
            sound += envelope * gain * np.sin(harmonic * phase)
    return (0.5 * sound / np.abs(sound).max()).astype(np.float32)


def chord(count, rate, frequencies):
    """Struck strings: six overtones each, decaying."""
    time = np.arange(count) / rate
    sound = sum(np.sin(2 * np.pi * f * k * time) / k**1.5 for f in frequencies for k in range(1, 7))
    sound = sound * np.exp(-1.5 * time)
    return (0.8 * sound / np.abs(sound).max()).astype(np.float32)


def windows(sound, size, step):
    return np.stack([sound[i : i + size] for i in range(0, len(sound) - size + 1, step)])


def file_bytes(text, count=2048, padding=256):
    """What magika reads of a file: its first and its last thousand bytes, padded."""
    data, half = list(text.encode()), count // 2
    first, last = data[:half], data[-half:]
    row = first + [padding] * (half - len(first)) + [padding] * (half - len(last)) + last
    return np.array([row], np.int32)


def detection(photo, height, width):
    return {
        "input_1": to_tensor(letterboxed(photo, height, width)),
        "image_shape": np.array([[photo.height, photo.width]], np.float32),
    }


def page_tensor(width, height, lines, size):
    return {"x": to_tensor(text_page(width, height, lines, size), (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), True)}


def line_tensor(*pictures):
    return {"x": np.concatenate([to_tensor(picture, 0.5, 0.5, True) for picture in pictures])}


def vad(sound):
    zero = np.zeros((1, 1, 128), np.float32)
    return {"input": windows(sound, 576, 512), "h": zero, "c": zero}


def frames(sound, count):
    """Frames of 512 samples at 16 kHz, of which the model judges one at a time, with the state of before."""
    batch = windows(sound[4800:], 512, 512)[:count]
    return {"input": batch, "state": np.zeros((2, count, 128), np.float32), "sr": np.array(16000, np.int64)}


def table(width, height, rows, columns):
    """A ruled table with numbers in its cells."""
    picture = Image.new("RGB", (width, height), "white")
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(20)
    step_x, step_y = (width - 40) // columns, (height - 40) // rows
    for row in range(rows + 1):
        draw.line((20, 20 + row * step_y, 20 + columns * step_x, 20 + row * step_y), "black", 2)
    for column in range(columns + 1):
        draw.line((20 + column * step_x, 20, 20 + column * step_x, 20 + rows * step_y), "black", 2)
    for row in range(rows):
        for column in range(columns):
            draw.text((32 + column * step_x, 30 + row * step_y), str(37 * row + 11 * column), font=font, fill="black")
    return {"x": to_tensor(picture, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), True)}


def digit(character):
    picture = Image.new("L", (28, 28))
    ImageDraw.Draw(picture).text((8, 1), character, font=ImageFont.load_default(22), fill="white")
    return np.asarray(picture, np.float32)[None, None]


def yolo_cases():
    photo = Image.open(PHOTOS).convert("RGB")
    return {"416x416": detection(photo, 416, 416), "320x480": detection(photo, 320, 480),
            "608x608": detection(photo, 608, 608), "sampled": sampled_detection(photo, 416)}


def text_detection_cases():
    lines = ("INVOICE 2026-0417", "Open inference engine", "Total amount: 1,284.50 EUR", "Thank you for your order")
    return {"320x640": page_tensor(640, 320, lines, 28), "192x256": page_tensor(256, 192, lines[:2], 22),
            "448x352": page_tensor(352, 448, lines, 24)}


def text_recognition_cases():
    return {"320": line_tensor(text_line(LINE, 48, 320)), "160": line_tensor(text_line("Thank you", 48, 160)),
            "2x480": line_tensor(text_line("Open inference", 48, 480), text_line("INVOICE 2026-0417", 48, 480))}


def direction_cases():
    upright = text_line("Hello world", 48).resize((192, 48), Image.BICUBIC)
    turned = upright.rotate(180)
    return {"turned": line_tensor(turned), "both": line_tensor(turned, upright)}


def super_resolution_cases():
    return {"crop": {"input": to_tensor(Image.open(PHOTOS).crop((130, 100, 134, 104)))}}


def upscale_cases():
    """A part of the photos as examples/upscale is tested with it, and small ones in a batch."""
    photo = Image.open(PHOTOS).convert("RGB")
    small = [to_tensor(photo.crop((left, 60, left + 48, 92))) for left in (80, 400)]
    return {"page": {"data": to_tensor(photo.crop((60, 30, 290, 180)))}, "two": {"data": np.concatenate(small)}}


def pitch_cases():
    major = chord(43844, 22050, (261.626, 329.628, 391.995))
    octave = chord(43844, 22050, (220.0, 440.0))
    name = "serving_default_input_2:0"
    return {"chord": {name: major.reshape(1, -1, 1)}, "two": {name: np.stack([octave, major])[:, :, None]}}


def file_type_cases():
    source, other = file_bytes(C_SOURCE * 12), file_bytes(PYTHON_SOURCE * 3)
    return {"c": {"bytes": source}, "both": {"bytes": np.concatenate([other, source])}}


def pictures():
    return [Image.open(path).convert("RGB") for path in PICTURES]


def face_cases():
    astronaut, coffee, _ = pictures()
    small = [to_tensor(picture.resize((320, 256), Image.BICUBIC)) for picture in (coffee, astronaut)]
    return {"512x512": {"input.1": 255 * to_tensor(astronaut)}, "2x256x320": {"input.1": 255 * np.concatenate(small)}}


def descriptor_cases():
    astronaut, _, cat = pictures()
    face = astronaut.crop(FACE).resize((150, 150), Image.BICUBIC)
    others = (face.transpose(Image.FLIP_LEFT_RIGHT), cat.crop(FACE).resize(face.size))
    faces = [255 * to_tensor(picture) for picture in (face, *others)]
    return {"one": {"faces": faces[0]}, "three": {"faces": np.concatenate(faces)}}


def person_tensor(picture, side, mean=0.0, std=1.0):
    """(1, H, W, 3), as MediaPipe's models take it."""
    return to_tensor(letterboxed(picture, side, side), mean, std).transpose(0, 2, 3, 1)


def person_cases(side, mean=0.0, std=1.0):
    """A person, and what is none."""
    tensors = [person_tensor(picture, side, mean, std) for picture in pictures()]
    return {"two": {"input_1": np.concatenate(tensors[:2])}, "three": {"input_1": np.concatenate(tensors)}}


def mask_cases():
    portrait, cameraman = pictures()[0].crop(PORTRAIT), Image.open(PHOTOS).convert("RGB").crop(CAMERAMAN)
    mirrored = portrait.transpose(Image.FLIP_LEFT_RIGHT)
    tensors = [person_tensor(picture, 256) for picture in (portrait, cameraman, mirrored)]
    return {"one": {"input_1": tensors[0]}, "three": {"input_1": np.concatenate(tensors)}}


CASES = {
    "tiny_yolov3": yolo_cases,
    "ppocrv4_det": text_detection_cases,
    "ppocrv4_rec": text_recognition_cases,
    "ppocr_cls": direction_cases,
    "espcn_x3": super_resolution_cases,
    "mnist_cnn": lambda: {"seven": {"Input3": digit("7")}, "three": {"Input3": digit("3")}},
    "silero_vad_v6": lambda: {"long": vad(voice(2.7, 16000)), "short": vad(voice(0.9, 16000))},
    "silero_vad_v5": lambda: {"two": frames(voice(2.7, 16000), 2), "batch": frames(voice(2.7, 16000), 6)},
    "slanet_plus": lambda: {"4x3": table(488, 488, 4, 3), "2x2": table(488, 488, 2, 2)},
    "basic_pitch": pitch_cases,
    "magika_v3": file_type_cases,
    "centerface": face_cases,
    "dlib_face": descriptor_cases,
    "pose_detection": lambda: person_cases(224, 0.5, 0.5),
    "pose_landmark": lambda: person_cases(256),
    "selfie_segmentation": mask_cases,
    "realesr_animevideov3_x4": upscale_cases,
}


def cases_of(model):
    """The cases of a model by name; the first is what an engine should be best at."""
    return CASES[model]()
