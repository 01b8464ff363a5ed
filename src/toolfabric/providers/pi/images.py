"""Tell images by their first bytes, with their size in pixels where that is cheap to see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["HEADER_BYTES", "Image", "identify_image"]

HEADER_BYTES: Final = 64 * 1024
"""How much of a file is looked at. A JPEG's size may stand behind a preview picture of that length."""

# Markers of a JPEG that carry the frame's size: SOF0 to SOF15 without DHT, JPG and DAC.
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """The media type of an image, and width and height in pixels if they were found."""

    type: str
    size: tuple[int, int] | None = None


def identify_image(head: bytes) -> Image | None:
    """The image that a file beginning so is, or ``None``. Nothing is decoded.

    PNG, GIF, JPEG, WebP and BMP; SVG is text.
    """
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return Image(type="image/png", size=_pair(head, 16, 4, "big") if head[12:16] == b"IHDR" else None)
    if head.startswith((b"GIF87a", b"GIF89a")):
        return Image(type="image/gif", size=_pair(head, 6, 2, "little"))
    if head.startswith(b"\xff\xd8\xff"):
        return Image(type="image/jpeg", size=_jpeg_size(head))
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return Image(type="image/webp", size=_webp_size(head))
    if head.startswith(b"BM") and head[14:18] == b"\x28\x00\x00\x00":
        return Image(type="image/bmp", size=_pair(head, 18, 4, "little"))
    return None


def _number(data: bytes, at: int, size: int, order: str) -> int:
    piece = data[at : at + size]
    return int.from_bytes(piece if order == "little" else piece[::-1], "little")


def _pair(data: bytes, at: int, size: int, order: str) -> tuple[int, int] | None:
    if len(data) < at + 2 * size:
        return None
    return _number(data, at, size, order), _number(data, at + size, size, order)


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:  # noqa: PLR2004 - every marker begins so
        if head[at + 1] in _FRAMES:
            pair = _pair(head, at + 5, 2, "big")
            return None if pair is None else (pair[1], pair[0])
        at += 2 + max(2, _number(head, at + 2, 2, "big"))
    return None


def _webp_size(head: bytes) -> tuple[int, int] | None:
    kind = head[12:16]
    if kind == b"VP8 ":
        pair = _pair(head, 26, 2, "little")
        return None if pair is None else (pair[0] & 0x3FFF, pair[1] & 0x3FFF)
    if kind == b"VP8L" and len(head) >= 25:  # noqa: PLR2004 - the header's length
        bits = _number(head, 21, 4, "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        pair = _pair(head, 24, 3, "little")
        return None if pair is None else (pair[0] + 1, pair[1] + 1)
    return None
