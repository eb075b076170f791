"""The stand-in under the real engine, which alone decides what its answers mean."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.cloud.client import Cloud
from tests.rehearsal.declared import Project, project
from tests.rehearsal.google.stack import PROJECT, VALID

pytestmark = pytest.mark.rehearsal

GOOGLE = {
    "type": "provider:gcp",
    "name": "google",
    "inputs": {"project": PROJECT, "region": "us-east5", "zone": "us-east5-b"},
}
SERVICES = [
    {
        "type": "gcp:projects/service:Service",
        "name": service,
        "provider": "google",
        "inputs": {"service": f"{service}.googleapis.com"},
    }
    for service in ("compute", "container", "iam", "cloudresourcemanager")
]
ENABLED = [service["name"] for service in SERVICES]
POOL = "gcp:container/nodePool:NodePool"


def declared(kind: str, name: str, *outputs: str, **changed: Any) -> dict[str, Any]:
    inputs = {k: v for k, v in {**VALID[kind], **changed}.items() if v is not None}
    return {
        "type": kind, "name": name, "provider": "google", "inputs": inputs,
        "outputs": list(outputs), "after": ENABLED,
    }  # fmt: skip


def network(**changed: Any) -> dict[str, Any]:
    return declared("gcp:compute/network:Network", "net", **changed)


def subnet(**changed: Any) -> dict[str, Any]:
    return declared("gcp:compute/subnetwork:Subnetwork", "sub", network="${net.id}", **changed)


def bucket(**options: Any) -> dict[str, Any]:
    found = declared("gcp:storage/bucket:Bucket", "results", labels={"team": "a"})
    return {**found, "after": [], **options}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Project]:
    with project(tmp_path) as found:
        yield found


def test_a_cluster_with_a_slice_comes_up_holds_still_and_goes_away(small: Project) -> None:
    small.declare(
        GOOGLE, *SERVICES, network(), subnet(),
        declared("gcp:serviceaccount/account:Account", "nodes", "email"),
        declared("gcp:container/cluster:Cluster", "gke", "endpoint", "masterAuth",
                 network="${net.id}", subnetwork="${sub.id}"),
        declared(POOL, "tpu", cluster="${gke.id}",
                 nodeConfig={**VALID[POOL]["nodeConfig"], "serviceAccount": "${nodes.email}"}),
    )  # fmt: skip
    assert set(small.preview().values()) == {"create"}
    assert not (small.home / "google").exists(), "a preview changes nothing"

    small.up()
    assert small.preview() == {}
    small.refresh()
    assert small.preview() == {}, "a refresh finds no drift where there is none"
    state = small.resources()
    assert "ciphertext" in state["gke"]["outputs"]["masterAuth"]["clientKey"]
    (found,) = Cloud(small.home).status()["clusters"]
    assert "demo" in str(found)

    small.destroy()
    assert not list((small.home / "google" / PROJECT / "container.Cluster").iterdir())
    assert not Cloud(small.home).status().get("clusters")


def test_drift_and_deletion_by_hand_are_found_and_repaired(small: Project) -> None:
    small.declare(GOOGLE, *SERVICES, network(), bucket())
    small.up()
    objects = small.home / "google" / PROJECT
    file = objects / "storage.Bucket" / "demo-results.json"
    document = json.loads(file.read_text())
    document["properties"]["labels"]["team"] = "somebody else"
    file.write_text(json.dumps(document))
    (objects / "compute.Network" / "global~networks~demo.json").unlink()

    small.refresh()
    assert small.up() == {"results": "update", "net": "create"}
    assert json.loads(file.read_text())["properties"]["labels"] == {"team": "a"}


def test_what_google_would_replace_is_replaced_with_what_depends_on_it(small: Project) -> None:
    small.declare(GOOGLE, *SERVICES, network(), subnet())
    small.up()
    small.declare(GOOGLE, *SERVICES, network(), subnet(ipCidrRange="192.168.0.0/17"))
    assert small.up() == {"sub": "update"}
    small.declare(GOOGLE, *SERVICES, network(description="x"), subnet())
    assert small.preview() == {"net": "replace", "sub": "replace"}
    small.up()
    assert small.preview() == {}


def test_a_real_project_is_refused_in_the_preview(small: Project) -> None:
    real = {**GOOGLE, "inputs": {"project": "my-company-production"}}
    small.declare(real, {**network(), "after": []})
    refusal = small.run("preview", fails=True)
    assert "refuses the project 'my-company-production'" in refusal
    assert "rehearsal/bin off PATH" in refusal


def test_a_kept_bucket_is_a_conflict_until_it_is_imported(small: Project) -> None:
    small.declare(GOOGLE, bucket(retain=True))
    small.up()
    small.destroy()
    assert Cloud(small.home).bucket_exists("demo-results")

    small.up(fails=True)
    assert "you already own it" in small.output
    small.declare(GOOGLE, bucket(retain=True, **{"import": "demo-results"}))
    assert small.up()["results"] == "import"
    assert small.preview() == {}


def test_one_interrupt_ends_a_slow_operation_at_once(small: Project) -> None:
    fault = {"type": "gcp:storage/bucket:Bucket", "operation": "create", "delay_seconds": 60}
    (small.home / "google").mkdir()
    (small.home / "google" / "faults.json").write_text(json.dumps([fault]))
    small.declare(GOOGLE, bucket())
    started = time.monotonic()
    printed = small.interrupt_when("results creating", "up", "--yes", "--skip-preview")
    assert "create of results cancelled; nothing was changed" in printed
    assert time.monotonic() - started < 30
    assert "results" not in small.resources()
    assert small.up()["results"] == "create"


def test_a_fault_fails_once_and_the_next_up_goes_on(small: Project) -> None:
    fault = {"type": "gcp:compute/network:Network", "operation": "create",
             "message": "Error 503: no capacity", "times": 1}  # fmt: skip
    (small.home / "google").mkdir()
    (small.home / "google" / "faults.json").write_text(json.dumps([fault]))
    small.declare(GOOGLE, *SERVICES, network())
    small.up(fails=True)
    assert "Error 503: no capacity" in small.output
    assert small.up() == {"net": "create"}
