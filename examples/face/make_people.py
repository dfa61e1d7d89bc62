"""Draws people.jpg: the astronaut mirrored, turned and darker, and the cameraman. make_people.py FOLDER FILE

FOLDER holds scikit-image's data: astronaut.png (NASA, public domain) and camera.png (Lav Varshney, CC0).
"""
import pathlib
import sys

from PIL import Image, ImageEnhance, ImageOps

folder, sheet = pathlib.Path(sys.argv[1]), Image.new("RGB", (640, 512))
astronaut, cameraman = (Image.open(folder / f"{name}.png").convert("RGB") for name in ("astronaut", "camera"))
astronaut = ImageOps.mirror(astronaut).rotate(12, Image.BICUBIC, fillcolor=(200, 190, 180)).crop((96, 0, 416, 512))
sheet.paste(ImageEnhance.Brightness(astronaut).enhance(0.7), (0, 0))
sheet.paste(cameraman.crop((60, 0, 380, 512)), (320, 0))
sheet.save(sys.argv[2], quality=92)
