from __future__ import annotations

import pytest

from rehearsal import maxtext_settings, tinymodel

FILE = "# model\n" + "".join(f"{key}: 4096  # real\n" for key in tinymodel.SIZES) + "other: 1\n"


def test_only_the_sizes_change() -> None:
    text = maxtext_settings.shrunk(FILE)
    for key, value in tinymodel.SIZES.items():
        assert f"\n{key}: {value}\n" in text
    assert text.startswith("# model\n")
    assert text.endswith("other: 1\n")


def test_file_without_one_of_the_sizes_is_refused() -> None:
    """A silent miss would train the real 31 billion parameters on this machine."""
    with pytest.raises(ValueError, match="head_dim stands 0 times"):
        maxtext_settings.shrunk(FILE.replace("\nhead_dim", "\nhead_size"))
