"""The drawing of a face, from the background to the grain of the picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.data.faces.shapes import Array, Canvas, capsule, circle, ellipse, parabola
from leakrange.data.faces.traits import Traits
from leakrange.data.splits import stream

__all__ = ["draw"]

CHUNK_PIXELS = 16 * 4096
"""Pixels processed at a time: the planes of a chunk stay in the processor's cache."""

LONG, CURLY, PARTED = 1, 2, 3
"""Hair styles; 0 is short."""


def draw(traits: Traits, size: int, seed: int) -> NDArray[np.uint8]:
    """uint8 (n, size, size, 3) pictures of ``traits``; ``seed`` draws the grain."""
    count = len(traits.age)
    images = np.empty((count, size, size, 3), dtype=np.uint8)
    chunk = max(1, CHUNK_PIXELS // (size * size))
    rng = stream(seed, "grain")
    # Faces with the same features are drawn together, so that what none of them has costs nothing.
    alike = np.lexsort(
        [k.ravel() for k in (traits.age, traits.beard, traits.smile, traits.glasses, traits.style)]
    )
    for start in range(0, count, chunk):
        rows = alike[start : start + chunk]
        part = traits.rows(rows)
        canvas = _blank(part, size)
        _behind(canvas, part)
        _head(canvas, part)
        _age_marks(canvas, part)
        _eyes(canvas, part)
        _nose(canvas, part)
        _beard(canvas, part)
        _mouth(canvas, part)
        _hair(canvas, part)
        _glasses(canvas, part)
        _light(canvas, part, rng)
        pixels = np.clip(canvas.rgb, 0.0, 1.0, out=canvas.rgb)
        pixels *= 255
        pixels += np.float32(0.5)
        images[rows] = pixels.astype(np.uint8).transpose(1, 2, 3, 0)
    return images


def _blank(t: Traits, size: int) -> Canvas:
    """Background, and the coordinates of a face that is shifted, scaled and tilted."""
    line = ((2 * np.arange(size, dtype=np.float32) + 1) / np.float32(size)) - np.float32(1)
    u, v = line[None, None, :], line[None, :, None]
    rgb = np.empty((3, len(t.age), size, size), dtype=np.float32)
    ramp = (v + np.float32(1)) / np.float32(2)
    for plane, top, bottom in zip(rgb, t.back_top, t.back_bottom, strict=True):
        plane[:] = top + ramp * (bottom - top)
    pixel = np.broadcast_to(np.float32(2 / size), t.age.shape)
    backdrop = Canvas(rgb, np.broadcast_to(u, rgb.shape[1:]), np.broadcast_to(v, rgb.shape[1:]), pixel)
    blob = circle(backdrop.x - t.blob_x, backdrop.y - t.blob_y, t.blob_r)
    backdrop.paint(backdrop.cover(blob, 0.1) * np.float32(0.7), t.blob)
    # Rotation by the half-angle formula, which needs no sine.
    norm = 1 + t.tilt * t.tilt
    cos, sin = (1 - t.tilt * t.tilt) / norm, 2 * t.tilt / norm
    du, dv = (u - t.shift_x) / t.scale, (v - t.shift_y) / t.scale
    return Canvas(rgb, cos * du + sin * dv, cos * dv - sin * du, pixel / t.scale)


def _skull(canvas: Canvas, t: Traits, grow: float = 0.0) -> Array:
    """Signed distance from the outline of the head; young faces are rounder, and the chin narrows by
    ``taper``.
    """
    narrowing = t.taper * (np.float32(0.6) + np.float32(0.4) * t.age)
    x = canvas.x * (1 + narrowing * np.maximum(canvas.y, 0))
    return ellipse(x, canvas.y, t.width + grow, t.height + grow)


def _behind(canvas: Canvas, t: Traits) -> None:
    """Paint the parts that the head covers: hair at the back, neck and shoulders."""
    x, y = canvas.x, canvas.y
    back = t.hair * np.float32(0.72)
    if (long := t.style == LONG).any():
        canvas.fill(np.maximum(ellipse(x, y - 0.25, t.width + 0.20, 1.22), y - 0.98), back, long)
    if (curly := t.style == CURLY).any():
        canvas.fill(ellipse(x, y + 0.22, t.width + 0.24, t.height - 0.02), back, curly)
    lower = canvas.window(0.0, 0.55, 1.0, 1.0)
    lower.fill(capsule(lower.x, lower.y, (0.0, 0.5), (0.0, 1.3), 0.27), t.skin * np.float32(0.82))
    lower.fill(ellipse(lower.x, lower.y - 1.75, 1.2, 0.72), t.shirt)


def _head(canvas: Canvas, t: Traits) -> None:
    for side in (-1, 1):
        edge = canvas.beside(side, 0.1, 0.5, 0.3, 0.75)
        ear = ellipse(edge.x - side * (t.width + 0.01) + t.turn, edge.y - 0.06, 0.10, 0.17)
        edge.fill(ear, t.skin * np.float32(0.88))
    face = _skull(canvas, t)
    canvas.fill(face, t.skin)
    # A round head is darker towards its edge.
    rim = canvas.cover(face + 0.10, 0.36)
    canvas.paint((canvas.cover(face) - rim).clip(0, 1) * np.float32(0.45), t.skin * np.float32(0.66))


def _age_marks(canvas: Canvas, t: Traits) -> None:
    """Paint rosy cheeks of the young; folds, lines and bags of the old."""
    blush = t.skin * np.array((1.0, 0.55, 0.55), dtype=np.float32)[:, None, None, None]
    crease = t.skin * np.float32(0.55)
    young = np.clip(1 - t.age * 2.6, 0, 1)
    old = np.clip(t.age * 2.2 - 1.1, 0, 1)
    grown = np.clip(t.age * 1.6 - 0.35, 0, 1)
    for side in (-1, 1):
        middle = canvas.beside(side, -0.05, 0.4, 0.4, 0.85)
        x, y = middle.x - t.turn, middle.y
        if young.any():
            cheek = ellipse(x - side * 0.37, y - 0.24, 0.13, 0.10)
            middle.paint(middle.cover(cheek, 0.14) * young * np.float32(0.75), blush)
        if grown.any():
            fold = capsule(x, y, (side * 0.15, 0.22), (side * 0.29, 0.46), 0.013)
            middle.fill(fold, crease, grown * np.float32(0.75))
        if old.any():
            bag = parabola(x - side * t.spacing, y - 0.10, 0.12, -0.05, 0.014)
            middle.fill(bag, crease, old * np.float32(0.8))
    if old.any():
        middle = canvas.window(0.2, 0.15, 0.8, 0.6)
        x, y = middle.x - t.turn, middle.y
        for line, half in ((-0.38, 0.28), (-0.47, 0.22)):
            middle.fill(parabola(x, y - line, half, 0.02, 0.014), crease, old * np.float32(0.8))


def _eyes(canvas: Canvas, t: Traits) -> None:
    wide = t.eye_size * (np.float32(0.150) - np.float32(0.035) * t.age)
    high = t.eye_size * (np.float32(0.115) - np.float32(0.062) * t.age) * (1 - np.float32(0.15) * t.smile)
    iris: Array = high * np.float32(0.35) + np.float32(0.045)
    pupil: Array = iris * np.float32(0.55)
    white = np.full((3, 1, 1, 1), 0.97, dtype=np.float32)
    dark = np.full((3, 1, 1, 1), 0.06, dtype=np.float32)
    for side in (-1, 1):
        band = canvas.beside(side, -0.1, 0.35, 0.24, 0.7)
        ex, y = band.x - t.turn - side * t.spacing, band.y + np.float32(0.06)
        ball = ellipse(ex, y, wide, high)
        inside = band.cover(ball)
        band.paint(inside, white)
        gx: Array = ex - np.float32(0.03) * t.gaze
        for part, colour in (
            (circle(gx, y, iris), t.eyes),
            (circle(gx, y, pupil), dark),
            (circle(gx + 0.022, y + 0.022, 0.016), white),
        ):
            band.paint(np.minimum(inside, band.cover(part)), colour)
        lid = parabola(ex, y + high, wide * np.float32(1.05), high * np.float32(0.75), 0.016)
        band.fill(lid, t.skin * np.float32(0.30))
        lift = np.float32(0.15) + high - np.float32(0.02) * t.age
        slope = side * (t.brow_tilt + np.float32(0.05) * t.age)
        brow = parabola(ex, y + lift - slope * ex / 0.15, 0.145, 0.035, t.brow)
        band.fill(brow, t.hair * np.float32(0.62))


def _nose(canvas: Canvas, t: Traits) -> None:
    middle = canvas.window(0.15, 0.35, 0.85, 0.95)
    x, y = middle.x - t.turn, middle.y
    shade = t.skin * np.float32(0.66)
    length = t.nose * (np.float32(0.8) + np.float32(0.3) * t.age)
    bridge = capsule(x, y, (t.nose_width * np.float32(0.35) + t.turn, -0.02), (t.nose_width, length), 0.012)
    middle.paint(middle.cover(bridge) * np.float32(0.5), shade)
    tip = parabola(x - t.turn * np.float32(0.5), y - length, t.nose_width, -0.045, 0.02)
    middle.fill(tip, shade)


def _mouth(canvas: Canvas, t: Traits) -> None:
    """Paint the mouth. Neutral: one line, about level. Smiling: a crescent, more or less open, with teeth."""
    middle = canvas.window(0.15, 0.5, 0.85, 0.95)
    x, y = middle.x - t.turn, middle.y - np.float32(0.51)
    lips = t.skin * np.array((0.82, 0.52, 0.50), dtype=np.float32)[:, None, None, None]
    inner = np.array((0.35, 0.08, 0.10), dtype=np.float32)[:, None, None, None]
    teeth = np.full((3, 1, 1, 1), 0.96, dtype=np.float32)
    half = t.mouth * (1 + np.float32(0.22) * t.smile)
    neutral = 1 - t.smile
    if neutral.any():
        sag = np.float32(0.03) * (np.float32(0.4) - t.opened)
        middle.fill(parabola(x, y, half, sag, 0.030), lips, neutral)
        middle.fill(parabola(x, y, half * np.float32(0.96), sag, 0.009), inner, neutral * np.float32(0.8))
    if t.smile.any():
        bend = x * x / (half * half)
        depth = np.float32(0.09) + np.float32(0.07) * t.opened
        above = -y - np.float32(0.015) - np.float32(0.115) * bend
        below = y - depth + (depth + np.float32(0.09)) * bend
        crescent = np.maximum(np.maximum(above, below), np.abs(x) - half) * np.float32(0.8)
        middle.fill(crescent - np.float32(0.022), lips, t.smile)
        middle.fill(crescent, inner, t.smile)
        bite = np.maximum(crescent + np.float32(0.006), y - np.float32(0.05) + np.float32(0.09) * bend)
        middle.fill(bite, teeth, t.smile)


def _beard(canvas: Canvas, t: Traits) -> None:
    """Paint the beard over cheeks and chin up to the ears, and above the mouth."""
    if not t.beard.any():
        return
    lower = canvas.window(0.1, 0.42, 0.9, 1.0)
    x, y = lower.x, lower.y
    colour = t.hair * np.float32(0.80)
    edge = np.float32(0.40) - np.float32(0.75) * x * x - y
    jaw = np.maximum(_skull(lower, t, 0.035), edge)
    mouth = -ellipse(x - t.turn, y - 0.53, t.mouth + 0.05, 0.10)
    lower.paint(lower.cover(np.maximum(jaw, mouth), 0.03) * t.beard * np.float32(0.92), colour)
    moustache = parabola(x - t.turn, y - 0.41, t.mouth + 0.03, 0.08, 0.042)
    lower.fill(moustache, colour, t.beard * np.float32(0.92))


def _hair(canvas: Canvas, t: Traits) -> None:
    top = canvas.window(0.0, 0.0, 1.0, 0.7)
    x, y = top.x, top.y
    # The hairline recedes with age, at the sides more than in the middle.
    line = t.hairline + np.float32(0.12) * t.age
    slant = np.where(t.style == PARTED, np.float32(0.9), np.float32(0.15)) * t.parting
    front = y + line + slant * x - (np.float32(0.75) - np.float32(0.35) * t.age) * x * x
    cap = np.maximum(_skull(top, t, 0.07), front * np.float32(0.7))
    top.fill(cap, t.hair)
    if (curly := t.style == CURLY).any():
        curls = np.maximum(ellipse(x, y + 0.30, t.width + 0.20, t.height - 0.12), front * np.float32(0.7))
        top.fill(curls, t.hair, curly)
    shine = parabola(x - np.float32(0.12), y + t.height - 0.13, 0.24, 0.09, 0.030)
    lighter = t.hair + (1 - t.hair) * np.float32(0.35)
    top.paint(top.cover(shine, 0.04) * np.float32(0.45), lighter)
    if (long := t.style == LONG).any():
        for side in (-1, 1):
            lock = ellipse(canvas.x - side * (t.width + 0.07), canvas.y - 0.18, 0.15, 0.80)
            canvas.fill(lock, t.hair, long)


def _glasses(canvas: Canvas, t: Traits) -> None:
    if not t.glasses.any():
        return
    glass = np.full((3, 1, 1, 1), 0.90, dtype=np.float32)
    for side in (-1, 1):
        band = canvas.beside(side, -0.12, 0.5, 0.24, 0.8)
        x, y = band.x - t.turn, band.y + 0.05
        rim = ellipse(x - side * (t.spacing + 0.01), y, 0.215 * t.lens, 0.185)
        band.fill(rim, glass, t.glasses * np.float32(0.16))
        band.fill(np.abs(rim) - np.float32(0.024), t.frame, t.glasses)
        temple = capsule(x, y, (side * (t.spacing + 0.22), -0.04), (side * (t.width + 0.02), -0.05), 0.022)
        band.fill(temple, t.frame, t.glasses)
    band = canvas.window(0.3, 0.3, 0.7, 0.7)
    x, y = band.x - t.turn, band.y + 0.05
    bridge = parabola(x, y + 0.04, np.maximum(t.spacing - 0.205 * t.lens, 0.02), 0.02, 0.022)
    band.fill(bridge, t.frame, t.glasses)


def _light(canvas: Canvas, t: Traits, rng: np.random.Generator) -> None:
    """Apply one light from a side, its strength and colour, and the camera's grain."""
    shade = t.gain * (1 + t.light_x * canvas.x + t.light_y * canvas.y)
    tint = (1 + t.warmth, np.ones_like(t.warmth), 1 - t.warmth)
    for plane, factor in zip(canvas.rgb, tint, strict=True):
        plane *= shade
        plane *= factor
        # Two bytes for each pixel: their sum has a triangular distribution between -1 and 1.
        dots = np.frombuffer(rng.bytes(2 * plane.size), dtype=np.uint8).reshape(2, *plane.shape)
        grain = dots[0].astype(np.float32) + dots[1] - np.float32(255)
        plane += grain * (t.grain * np.float32(2 / 255))
