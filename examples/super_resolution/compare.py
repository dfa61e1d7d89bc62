"""Prints the PSNR of a super-resolved picture and of plain bicubic, and draws them side by side.

    python compare.py photos/astronaut.jpg small.png big.png --side-by-side=compare.png
"""

import argparse
import json

from PIL import Image, ImageDraw

import pictures

LABEL_HEIGHT = 20


def side_by_side(labelled):
    """One picture of [(label, picture)] of the same size, each under its label."""
    width, height = labelled[0][1].size
    sheet = Image.new("RGB", (width * len(labelled), height + LABEL_HEIGHT), "white")
    draw = ImageDraw.Draw(sheet)
    for column, (label, picture) in enumerate(labelled):
        draw.text((column * width + 4, 4), label, fill="black")
        sheet.paste(picture, (column * width, LABEL_HEIGHT))
    return sheet


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("photo", help="the original; what is beyond the big picture is cut off")
    parser.add_argument("small", help="what the network was given")
    parser.add_argument("big", help="what the network made of it")
    parser.add_argument("--side-by-side", metavar="FILE", help="picture to write")
    parser.add_argument("--crop", type=int, nargs=4, metavar=("LEFT", "TOP", "WIDTH", "HEIGHT"))
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()

    big = pictures.read_photo(options.big)
    small = pictures.read_photo(options.small)
    photo = pictures.read_photo(options.photo)
    if photo.width < big.width or photo.height < big.height:
        parser.error(f"{options.photo} is {photo.size}, smaller than {options.big}, {big.size}")
    original = photo.crop((0, 0, big.width, big.height))
    bicubic = pictures.enlarge(small, big.size)
    figures = {
        "bicubic_psnr_db": round(pictures.psnr(bicubic, original), 2),
        "srcnn_psnr_db": round(pictures.psnr(big, original), 2),
    }
    if options.side_by_side:
        left, top, width, height = options.crop or (0, 0, big.width, big.height)
        box = (left, top, left + width, top + height)
        labelled = [
            (f"bicubic, {figures['bicubic_psnr_db']:.2f} dB", bicubic.crop(box)),
            (f"SRCNN, {figures['srcnn_psnr_db']:.2f} dB", big.crop(box)),
            ("original", original.crop(box)),
        ]
        side_by_side(labelled).save(options.side_by_side)
    if options.json:
        print(json.dumps(figures))
    else:
        print(
            f"PSNR against the original: bicubic {figures['bicubic_psnr_db']:.2f} dB, "
            f"SRCNN {figures['srcnn_psnr_db']:.2f} dB"
        )


if __name__ == "__main__":
    main()
