"""Draws page.png: lines of text, one of them slanted and one upside down. make_page.py FILE"""
import sys

from PIL import Image, ImageDraw, ImageFont

page = Image.new("RGB", (640, 480), (250, 248, 240))


def put(text, size, x, y, angle=0, color=(20, 20, 60)):
    font = ImageFont.load_default(size)
    _, top, right, bottom = font.getbbox(text)
    line = Image.new("RGBA", (right + 8, bottom + top + 8))
    ImageDraw.Draw(line).text((4, 4), text, font=font, fill=color)
    line = line.rotate(angle, Image.BICUBIC, expand=True)
    page.paste(line, (x, y), line)


put("INVOICE 2026-0417", 36, 40, 30)
put("Open inference engine", 28, 40, 110)
put("Total 1,284.50 EUR", 28, 40, 170)
put("Thank you for your order", 26, 60, 230, angle=-8, color=(150, 30, 30))
put("Printed upside down", 28, 300, 400, angle=180, color=(20, 90, 40))
page.save(sys.argv[1], optimize=True)
