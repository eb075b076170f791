"""A stack on an empty Google project for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsal.google.stack import Stack


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    return Stack(tmp_path)
