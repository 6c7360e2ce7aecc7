"""Photos on which every squash must give the bytes of Pillow's."""

import numpy as np

CASES = [((64, 96), (64, 96)), ((96, 64), (64, 96)), ((8, 9), (32, 64)), ((33, 257), (64, 96)), ((301, 203), (96, 160))]
CASES += [((255, 640), (256, 256)), ((767, 1023), (64, 96)), ((64, 500), (64, 32)), ((320, 320), (256, 256))]
"""(height, width) of a photo and of the network: the same, turned, larger, smaller, odd, mixed, and with many sums that
end in a half.
"""


def photo(size: tuple[int, int]) -> np.ndarray:
    """(height, width, 3) uint8: noise, half of it black and white only, where rounding shows most."""
    rng = np.random.default_rng(size)
    pixels = rng.integers(0, 256, (*size, 3), np.uint8)
    pixels[:, : size[1] // 2] = 255 * (pixels[:, : size[1] // 2] > 127)
    return pixels
