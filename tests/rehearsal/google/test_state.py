from __future__ import annotations

import json
import threading
from pathlib import Path

from rehearsal.google.state import State, folder

KIND = "gcp:storage/bucketIAMMember:BucketIAMMember"


def test_an_object_is_one_readable_file(tmp_path: Path) -> None:
    state = State(tmp_path)
    state.write("p", KIND, "projects/p/a/b", {"x": 1})
    file = tmp_path / "google" / "p" / "storage.BucketIAMMember" / "a~b.json"
    document = json.loads(file.read_text())
    assert (document["id"], document["properties"]) == ("projects/p/a/b", {"x": 1})
    assert [entry.id for entry in state.entries("p", KIND)] == ["projects/p/a/b"]


def test_long_ids_that_begin_alike_have_different_files(tmp_path: Path) -> None:
    state = State(tmp_path)
    first, second = (state.path("p", KIND, "x" * 300 + end) for end in "ab")
    assert first != second
    assert len(first.name) < 255


def test_the_time_of_creation_survives_a_change(tmp_path: Path) -> None:
    state = State(tmp_path)
    state.write("p", KIND, "a", {})
    path = state.path("p", KIND, "a")
    path.write_text(path.read_text().replace('"created": "2', '"created": "1'))
    state.write("p", KIND, "a", {"x": 1})
    assert json.loads(path.read_text())["created"].startswith("1")


def test_the_lock_lets_one_in_at_a_time(tmp_path: Path) -> None:
    state, counted = State(tmp_path), {"n": 0}
    state.write_document("n.json", document=counted)

    def count() -> None:
        for _ in range(20):
            with State(tmp_path).lock():
                now = state.document("n.json", default=None)
                state.write_document("n.json", document={"n": now["n"] + 1})

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state.document("n.json", default=None) == {"n": 80}
    assert not list((tmp_path / "google").glob("*.tmp"))


def test_a_folder_names_product_and_type() -> None:
    assert folder("gcp:projects/iAMMember:IAMMember") == "projects.IAMMember"
