"""Log lines in absl's format, as the SFT entry point of MaxText writes them."""

import sys
import threading
from datetime import datetime


def info(source: str, text: str) -> None:
    """Write an information line of `source` ("metric_logger.py:230")."""
    _line("I", source, text)


def warning(source: str, text: str) -> None:
    """Write a warning line of `source`."""
    _line("W", source, text)


def plain(text: str) -> None:
    """Write a line without absl's prefix, as a traceback or a library's print is."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _line(level: str, source: str, text: str) -> None:
    now = datetime.now()
    plain(f"{level}{now:%m%d %H:%M:%S.%f} {threading.get_native_id()} {source}] {text}")
