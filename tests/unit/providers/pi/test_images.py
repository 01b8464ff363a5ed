"""Images told by their first bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.providers.pi.images import Image, identify_image

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480)
JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF\0\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    b"\xff\xdb\x00\x04ab\xff\xc2\x00\x11\x08" + struct.pack(">HH", 480, 640)
)
WEBP = b"RIFF\x00\x00\x00\x00WEBP"
LOSSLESS = struct.pack("<I", (640 - 1) | (480 - 1) << 14)


@pytest.mark.parametrize(
    ("head", "image"),
    [
        (PNG, Image(type="image/png", size=(640, 480))),
        (PNG[:12] + b"xxxx" + PNG[16:], Image(type="image/png")),
        (b"GIF89a" + struct.pack("<HH", 640, 480), Image(type="image/gif", size=(640, 480))),
        (b"GIF87a\x01", Image(type="image/gif")),
        (JPEG, Image(type="image/jpeg", size=(640, 480))),
        (JPEG[:20], Image(type="image/jpeg")),
        (
            WEBP + b"VP8 " + b"\0" * 10 + struct.pack("<HH", 640 | 0x4000, 480),
            Image(type="image/webp", size=(640, 480)),
        ),
        (WEBP + b"VP8L" + b"\0" * 5 + LOSSLESS, Image(type="image/webp", size=(640, 480))),
        (
            WEBP + b"VP8X" + b"\0" * 8 + (639).to_bytes(3, "little") + (479).to_bytes(3, "little"),
            Image(type="image/webp", size=(640, 480)),
        ),
        (WEBP + b"ALPH", Image(type="image/webp")),
        (
            b"BM" + b"\0" * 12 + b"\x28\0\0\0" + struct.pack("<II", 640, 480),
            Image(type="image/bmp", size=(640, 480)),
        ),
    ],
)
def test_an_image_is_known_by_its_header(head: bytes, image: Image) -> None:
    assert identify_image(head) == image


@pytest.mark.parametrize("head", [b"", b"BMW is a car", b"GIF", b"RIFF\0\0\0\0WAVE", b"<svg/>", b"\xff\xd8"])
def test_what_only_begins_alike_is_no_image(head: bytes) -> None:
    assert identify_image(head) is None


@given(st.sampled_from([PNG, JPEG, WEBP + b"VP8L", WEBP + b"VP8X", WEBP + b"VP8 "]), st.binary(max_size=60))
def test_a_broken_header_never_fails(start: bytes, rest: bytes) -> None:
    image = identify_image(start[: len(start) - len(rest) % 7] + rest)
    assert image is None or image.size is None or min(image.size) >= 0
