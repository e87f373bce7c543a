"""Anti-aliased shapes on a stack of images, by signed distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Canvas", "capsule", "circle", "ellipse", "parabola"]

Array = NDArray[np.float32]
TINY = np.float32(1e-6)


@dataclass(frozen=True)
class Canvas:
    """A stack of n pictures (or the same window of each) with the face's own coordinates at every pixel.

    rgb: float32 (3, n, H, W) in 0..1, painted in place. x, y: float32 (n, H, W), right and down from the
    middle of the face, which is about 1.3 wide and 1.7 high. pixel: float32 (n, 1, 1), a pixel's side in
    those units.
    """

    rgb: Array
    x: Array
    y: Array
    pixel: Array

    def window(self, left: float, top: float, right: float, bottom: float) -> Canvas:
        """The part of the pictures between these bounds (shares of the side, 0..1), as views, which are
        cheaper to paint."""
        height, width = self.x.shape[1:]
        rows = slice(int(top * height), -int(-bottom * height // 1))
        columns = slice(int(left * width), -int(-right * width // 1))
        return Canvas(
            self.rgb[:, :, rows, columns], self.x[:, rows, columns], self.y[:, rows, columns], self.pixel
        )

    def beside(self, side: int, near: float, far: float, top: float, bottom: float) -> Canvas:
        """The window from ``near`` to ``far`` right (side 1) or left (side -1) of the upright middle line."""
        left, right = (0.5 + near, 0.5 + far) if side == 1 else (0.5 - far, 0.5 - near)
        return self.window(left, top, right, bottom)

    def cover(self, distance: Array, softness: float | Array = 0.0) -> Array:
        """Coverage of each pixel, 0..1, from its signed distance (negative inside).

        ``softness`` is the width of an extra blurred edge in face units.
        """
        edge = self.pixel + softness
        share = distance / edge
        np.subtract(np.float32(0.5), share, out=share)
        return np.clip(share, 0.0, 1.0, out=share)

    def paint(self, cover: Array, colour: Array) -> None:
        """Lay ``colour`` (3, n, 1, 1) over the pictures with opacity ``cover`` (n, H, W)."""
        for plane, value in zip(self.rgb, colour, strict=True):
            change = value - plane
            change *= cover
            plane += change

    def fill(self, distance: Array, colour: Array, opacity: Array | None = None) -> None:
        """Paint the inside of a signed distance, everywhere or with ``opacity`` (n, 1, 1)."""
        cover = self.cover(distance)
        if opacity is not None:
            cover *= opacity
        self.paint(cover, colour)


def ellipse(x: Array, y: Array, rx: Array | float, ry: Array | float) -> Array:
    """Signed distance, to first order, from an ellipse about the origin with half-axes ``rx`` and ``ry``."""
    u, v = x / rx, y / ry
    k0 = _length(u, v)
    u /= rx
    v /= ry
    k1 = _length(u, v)
    k1 += TINY
    distance = k0 - np.float32(1)
    distance *= k0
    distance /= k1
    return distance


def circle(x: Array, y: Array, radius: Array | float) -> Array:
    """Signed distance from a circle about the origin."""
    distance = _length(x, y)
    distance -= radius
    return distance


def _length(u: Array, v: Array) -> Array:
    square = u * u
    square += v * v
    np.sqrt(square, out=square)
    return square


def capsule(
    x: Array,
    y: Array,
    start: tuple[Array | float, Array | float],
    end: tuple[Array | float, Array | float],
    radius: Array | float,
) -> Array:
    """Signed distance from a line segment with round ends; ``radius`` is half its thickness."""
    px, py = x - start[0], y - start[1]
    dx, dy = np.float32(end[0] - start[0]), np.float32(end[1] - start[1])
    along = np.clip((px * dx + py * dy) / (dx * dx + dy * dy), 0.0, 1.0)
    px -= along * dx
    py -= along * dy
    return circle(px, py, radius)


def parabola(x: Array, y: Array, half: Array | float, sag: Array | float, radius: Array | float) -> Array:
    """Signed distance, to first order, from a bent line through the origin.

    The line runs from -``half`` to ``half``; its ends lie ``sag`` lower than its middle (negative: higher).
    ``radius`` is half its thickness.
    """
    bend = np.asarray(sag / (half * half), dtype=np.float32)
    slope = (bend + bend) * x
    across = np.abs(y - bend * x * x) / np.sqrt(np.float32(1) + slope * slope) - radius
    return np.asarray(np.maximum(across, np.abs(x) - half))
