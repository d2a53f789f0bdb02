"""Handwritten digits as sequences of pixels: an image read one grey value at a time.

The images are scikit-learn's `load_digits` (the test set of Alpaydin and Kaynak 1998, 8 x 8 pixels of 17 grey values),
so nothing is downloaded. Reading images pixel by pixel, also in a fixed random order, follows Le, Jaitly and Hinton
2015, "A Simple Way to Initialize Recurrent Networks of Rectified Linear Units"; they used MNIST's 784 pixels.
"""

import json
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from random import Random

from sklearn.datasets import load_digits

from seqarena.data.source import SPLITS, Row
from seqarena.errors import InputError

VERSION = 1
"""Of the splits and the texts: raise it whenever the same options would give others."""

SIDE = 8
"""Pixels in a row, and rows."""
DEAL = ("train", "train", "val", "train", "train", "test")
"""The splits of six images that follow each other."""
AVAILABLE = {"train": 1198, "val": 300, "test": 299}
"""How many of the 1,797 images each split can have."""
ORDERS = ("rows", "permuted")


class Digits:
    """Classification: grey values, 0 (blank) to 16 (full), are the text, the digit drawn the label.

        0 0 5 13 9 1 0 0 0 0 13 15 10 15 5 0 ...  ->  0        ink 35

    `order` is `rows` (left to right, top to bottom) or `permuted` (one random order for all images, where what stood
    side by side in the image lies far apart). `enlarge` makes the image so many times as wide and as high by repeating
    each pixel: 64 values become 256 with 2 and 1,024 with 4, which say no more and lie further apart. The stratum `ink`
    counts the pixels that are not blank, before that.

    The images of each digit, shuffled by the seed, are dealt to the splits: 1,198 to train, 300 to val, 299 to test, of
    which the sizes take the first. So an example depends on (seed, split, index) alone, and none is in two splits; all
    images differ.
    """

    strata: tuple[str, ...] = ("ink",)
    shortcuts: tuple[str, ...] = ()

    def __init__(self, train: int, val: int, test: int, order: str, seed: int, enlarge: int = 1):
        """Sizes are numbers of images; 0 leaves a split out. InputError names a bad option and the cure."""
        self.sizes = dict(zip(SPLITS, (train, val, test), strict=True))
        for split, size in self.sizes.items():
            if not isinstance(size, int) or not 0 <= size <= AVAILABLE[split]:
                raise InputError(
                    f"digits: {split}={size} is not a number of images that there are; write 0 to {AVAILABLE[split]}"
                )
        if order not in ORDERS:
            raise InputError(f"digits: order={order} is not known; write {' or '.join(ORDERS)}")
        if not isinstance(enlarge, int) or enlarge < 1:
            raise InputError(f"digits: enlarge={enlarge} is not a number of times; write 1 or more, 2 for 256 values")
        self.order, self.seed, self.enlarge = order, seed, enlarge

    def splits(self) -> tuple[str, ...]:
        """The splits of which images were asked for."""
        return tuple(split for split, size in self.sizes.items() if size)

    def rows(self, split: str) -> Iterator[Row]:
        """`sizes[split]` images; more of them start with the same ones."""
        images, labels = _library()
        pixels = self._pixels()
        for index in self._indices(split, labels):
            text = " ".join(str(images[index][pixel]) for pixel in pixels)
            yield {"text": text, "label": str(labels[index]), "ink": sum(grey > 0 for grey in images[index])}

    def fingerprint(self) -> str:
        """A hash of the options and the version of the splits and texts."""
        options = json.dumps(["digits", VERSION, self.sizes, self.order, self.seed, self.enlarge])
        return blake2b(options.encode(), digest_size=16).hexdigest()

    def _pixels(self) -> list[int]:
        """For each value of a text, the pixel of the image that it shows."""
        across = [place // self.enlarge for place in range(SIDE * self.enlarge)]
        pixels = [SIDE * row + column for row in across for column in across]
        return pixels if self.order == "rows" else Random(f"{self.seed} pixels").sample(pixels, len(pixels))

    def _indices(self, split: str, labels: list[int]) -> list[int]:
        """The images of a split. They are dealt digit by digit, so that each split has its share of each."""
        shuffled = Random(f"{self.seed} images").sample(range(len(labels)), len(labels))
        by_digit = sorted(shuffled, key=labels.__getitem__)
        home = {image: DEAL[place % len(DEAL)] for place, image in enumerate(by_digit)}
        return [image for image in shuffled if home[image] == split][: self.sizes[split]]


@cache
def _library() -> tuple[list[list[int]], list[int]]:
    """All images, as rows of grey values, and the digit of each."""
    images, labels = load_digits(return_X_y=True)
    return images.astype(int).tolist(), labels.tolist()
