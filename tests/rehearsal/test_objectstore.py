from __future__ import annotations

import json
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal import maxtext_run, objectstore
from rehearsal.cloud.ports import free_ports
from rehearsal.gcs_tls_certificates import write_certificates
from tests.rehearsal.conftest import require_object_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, int]]]:
    """A home with the object store and its TLS proxy, and one bucket."""
    require_object_store()
    home = tmp_path_factory.mktemp("objectstore")
    ports = free_ports(["gcs", "gcs_tls"])
    processes = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in objectstore.commands(home, ports).values()
    ]
    try:
        for url in objectstore.ready_urls(ports).values():
            maxtext_run.wait_ready(url)
        maxtext_run.make_bucket(ports["gcs"])
        yield home, ports
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def through_proxy(store: tuple[Path, dict[str, int]], url: str, body: bytes | None = None) -> bytes:
    """Ask as the profiler does: TLS to Google's host name, by way of the proxy."""
    home, ports = store
    proxy = urllib.request.ProxyHandler({"https": f"http://127.0.0.1:{ports['gcs_tls']}"})
    trusted = ssl.create_default_context(cafile=str(objectstore.certificate_authority(home)))
    opener = urllib.request.build_opener(proxy, urllib.request.HTTPSHandler(context=trusted))
    with opener.open(urllib.request.Request(url, body)) as answer:
        return bytes(answer.read())


def upload(ports: dict[str, int], name: str, body: str, query: str = "") -> None:
    """Write an object as google-cloud-storage does, name and content in one request."""
    parts = (("application/json", json.dumps({"name": name})), ("text/plain", body))
    text = "".join(f"--x\r\nContent-Type: {kind}\r\n\r\n{part}\r\n" for kind, part in parts)
    path = f"upload/storage/v1/b/rehearsal/o?uploadType=multipart{query}"
    headers = {"Content-Type": "multipart/related; boundary=x"}
    url = f"http://127.0.0.1:{ports['gcs']}/{path}"
    urllib.request.urlopen(urllib.request.Request(url, f"{text}--x--".encode(), headers)).close()


def test_first_writer_of_a_record_wins(store: tuple[Path, dict[str, int]]) -> None:
    _, ports = store
    upload(ports, "record.json", "{}", "&ifGenerationMatch=0")
    with pytest.raises(urllib.error.HTTPError, match="412"):
        upload(ports, "record.json", "{}", "&ifGenerationMatch=0")


def test_object_written_over_tls_is_in_the_store(store: tuple[Path, dict[str, int]]) -> None:
    host = "https://storage.googleapis.com"
    url = f"{host}/upload/storage/v1/b/rehearsal/o?uploadType=media&name=trace"
    through_proxy(store, url, b"spans")
    assert through_proxy(store, f"{host}/storage/v1/b/rehearsal/o/trace?alt=media") == b"spans"
    plain = f"http://127.0.0.1:{store[1]['gcs']}/storage/v1/b/rehearsal/o/trace?alt=media"
    with urllib.request.urlopen(plain) as answer:
        assert answer.read() == b"spans"


def test_upload_session_comes_back_through_the_proxy(store: tuple[Path, dict[str, int]]) -> None:
    home, ports = store
    url = "https://www.googleapis.com/upload/storage/v1/b/rehearsal/o?uploadType=resumable&name=big"
    proxy = urllib.request.ProxyHandler({"https": f"http://127.0.0.1:{ports['gcs_tls']}"})
    trusted = ssl.create_default_context(cafile=str(objectstore.certificate_authority(home)))
    opener = urllib.request.build_opener(proxy, urllib.request.HTTPSHandler(context=trusted))
    request = urllib.request.Request(url, b"{}", {"Content-Type": "application/json"})
    with opener.open(request) as answer:
        session = answer.headers["Location"]
    assert session.startswith("https://www.googleapis.com/")
    chunk = urllib.request.Request(session, b"all of it", method="PUT")
    with opener.open(chunk) as answer:
        assert answer.status == 200


def test_no_other_host_is_reached(store: tuple[Path, dict[str, int]]) -> None:
    with pytest.raises(OSError, match="403"):
        through_proxy(store, "https://huggingface.co/")


def test_buckets_outlive_the_server(tmp_path: Path) -> None:
    require_object_store()
    ports = free_ports(["gcs", "gcs_tls"])
    command = objectstore.commands(tmp_path, ports)["gcs"]
    for attempt in range(2):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            maxtext_run.wait_ready(objectstore.ready_urls(ports)["gcs"])
            if attempt == 0:
                maxtext_run.make_bucket(ports["gcs"])
                upload(ports, "kept", "here")
            else:
                url = f"http://127.0.0.1:{ports['gcs']}/storage/v1/b/rehearsal/o/kept?alt=media"
                with urllib.request.urlopen(url) as answer:
                    assert answer.read() == b"here"
        finally:
            process.terminate()
            process.wait()


def test_everything_listens_on_loopback_alone(tmp_path: Path) -> None:
    require_object_store()
    commands = objectstore.commands(tmp_path, {"gcs": 1, "gcs_tls": 2})
    server = commands["gcs"]
    assert server[server.index("-host") + 1] == "127.0.0.1"
    for option in ("-external-url", "-public-host"):
        assert "127.0.0.1:1" in server[server.index(option) + 1]


def test_authoritys_key_is_nowhere_on_disk(tmp_path: Path) -> None:
    write_certificates(tmp_path, ["storage.googleapis.com"])
    assert {path.name for path in tmp_path.iterdir()} == {"ca.pem", "server.pem", "server.key"}
    assert (tmp_path / "server.key").stat().st_mode & 0o077 == 0
    assert "PRIVATE" not in (tmp_path / "ca.pem").read_text()
