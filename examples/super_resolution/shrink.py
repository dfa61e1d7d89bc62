"""Shrinks a photo the way the network was trained for, cropping it so that the factor divides it.

    python shrink.py photos/astronaut.jpg small.png
"""

import argparse

import pictures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("photo")
    parser.add_argument("small", help="file to write; .png keeps the pixels, .jpg is near lossless")
    parser.add_argument("--factor", type=int, default=3)
    options = parser.parse_args()

    photo = pictures.crop_to_multiple(pictures.read_photo(options.photo), options.factor)
    small = pictures.shrink(photo, options.factor)
    small.save(options.small, quality=100, subsampling=0)
    print(f"{options.small}: {photo.width}x{photo.height} -> {small.width}x{small.height}")


if __name__ == "__main__":
    main()
