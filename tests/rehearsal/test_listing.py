from datetime import UTC, datetime, timedelta

import pytest

from rehearsal.listing import StoredObject, listing, readable_size

START = datetime(2026, 12, 1, 12, tzinfo=UTC)


def objects(count: int) -> list[StoredObject]:
    return [
        StoredObject(f"gs://bucket/run/{number:03d}", 1024, START + timedelta(seconds=number))
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 kiB"),
        (4_700_000, "4.48 MiB"),
        (3 << 40, "3.00 TiB"),
    ],
)
def test_sizes_read_as_gcloud_prints_them(size_bytes: int, text: str) -> None:
    assert readable_size(size_bytes) == text


def test_a_short_listing_shows_every_object_with_size_time_and_url() -> None:
    assert listing(objects(2), most=5) == [
        "    1.00 kiB  2026-12-01T12:00:00Z  gs://bucket/run/000",
        "    1.00 kiB  2026-12-01T12:00:01Z  gs://bucket/run/001",
        "TOTAL: 2 objects, 2048 bytes (2.00 kiB)",
    ]


def test_a_long_listing_keeps_the_newest_objects_because_markers_are_written_last() -> None:
    lines = listing(objects(100), most=2)
    assert [line.split()[-1] for line in lines[:2]] == [
        "gs://bucket/run/098",
        "gs://bucket/run/099",
    ]
    assert "98 older objects" in lines[2]
    assert lines[3].startswith("TOTAL: 100 objects, 102400 bytes")
