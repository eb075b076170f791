from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.hub import Hub

MODEL = "google/gemma-4-31b-it"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """One model and one data set."""
    for name, text in {
        f"models/{MODEL}/config.json": "{}",
        f"models/{MODEL}/weights.safetensors": "0123456789",
        "datasets/HuggingFaceH4/ultrachat_200k/data/train_sft-0.parquet": "rows",
        "secret.txt": "not a repository",
    }.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "root"


@pytest.fixture
def hub(root: Path, tmp_path: Path) -> Iterator[str]:
    """The URL of a running Hub; `gates.json` beside the root closes repositories."""
    with Hub(0, root, tmp_path / "gates.json") as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def ask(url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body, for refusals too."""
    request = urllib.request.Request(
        url, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, dict(refusal.headers), refusal.read()


def document(url: str) -> Any:
    return json.loads(ask(url)[2])


def test_repository_lists_its_files(hub: str) -> None:
    info = document(f"{hub}/api/models/{MODEL}")
    assert {entry["rfilename"] for entry in info["siblings"]} == {
        "config.json",
        "weights.safetensors",
    }


def test_name_matches_in_any_case_and_the_answer_has_the_canonical_one(hub: str) -> None:
    assert document(f"{hub}/api/models/Google/Gemma-4-31B-it")["id"] == MODEL


def test_file_of_a_model_and_of_a_data_set(hub: str) -> None:
    assert ask(f"{hub}/{MODEL}/resolve/main/config.json")[2] == b"{}"
    file = "datasets/HuggingFaceH4/ultrachat_200k/resolve/main/data/train_sft-0.parquet"
    assert ask(f"{hub}/{file}")[2] == b"rows"


@pytest.mark.parametrize(
    ("wanted", "content", "span"),
    [
        ("bytes=2-4", b"234", "bytes 2-4/10"),
        ("bytes=7-", b"789", "bytes 7-9/10"),
        ("bytes=-2", b"89", "bytes 8-9/10"),
        ("bytes=8-99", b"89", "bytes 8-9/10"),
    ],
)
def test_range_of_a_file(hub: str, wanted: str, content: bytes, span: str) -> None:
    url = f"{hub}/{MODEL}/resolve/main/weights.safetensors"
    status, headers, body = ask(url, Range=wanted)
    assert (status, headers["Content-Range"], body) == (206, span, content)


def test_file_carries_what_the_client_caches_by(hub: str) -> None:
    _, headers, _ = ask(f"{hub}/{MODEL}/resolve/main/config.json")
    assert headers["ETag"]
    assert len(headers["X-Repo-Commit"]) == 40


def test_tree_of_a_folder(hub: str) -> None:
    tree = f"{hub}/api/datasets/HuggingFaceH4/ultrachat_200k/tree/main"
    assert [(entry["type"], entry["path"]) for entry in document(tree)] == [("directory", "data")]
    (file,) = document(f"{tree}/data?recursive=true")
    assert (file["path"], file["size"]) == ("data/train_sft-0.parquet", 4)


def test_paths_info_leaves_out_what_is_missing(hub: str) -> None:
    url = f"{hub}/api/models/{MODEL}/paths-info/main"
    request = urllib.request.Request(url, b"paths=config.json&paths=nothing")
    with urllib.request.urlopen(request) as answer:
        assert [entry["path"] for entry in json.load(answer)] == ["config.json"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("api/models/google/other", "RepoNotFound"),
        (f"{MODEL}/resolve/main/nothing", "EntryNotFound"),
        (f"{MODEL}/resolve/main/../../../secret.txt", "EntryNotFound"),
    ],
)
def test_what_is_missing_is_named_by_the_hubs_own_code(hub: str, path: str, code: str) -> None:
    status, headers, body = ask(f"{hub}/{path}")
    assert (status, headers["X-Error-Code"]) == (404, code)
    assert b"not a repository" not in body


@pytest.mark.parametrize(
    ("authorization", "status"), [("", 401), ("Bearer stranger", 403), ("Bearer friend", 200)]
)
def test_gated_model_asks_for_a_token_with_access(
    hub: str, tmp_path: Path, authorization: str, status: int
) -> None:
    (tmp_path / "gates.json").write_text(json.dumps({f"models/{MODEL.upper()}": ["friend"]}))
    headers = {"Authorization": authorization} if authorization else {}
    found, answer, _ = ask(f"{hub}/{MODEL}/resolve/main/config.json", **headers)
    assert found == status
    assert answer.get("X-Error-Code") == (None if status == 200 else "GatedRepo")


def test_token_is_not_in_the_log(hub: str, capfd: pytest.CaptureFixture[str]) -> None:
    ask(f"{hub}/{MODEL}/resolve/main/config.json", Authorization="Bearer canary")
    assert "canary" not in capfd.readouterr().err
