"""One local cloud for every end-to-end test: a cluster with a system node and a v6e-32 slice."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from kubernetes import client, config

from rehearsal import objectstore
from rehearsal.cloud.client import Cloud, NodePool
from rehearsal.toolchain import folder as toolchain
from tests.rehearsal.kube import Kube

PROJECT, LOCATION, CLUSTER = "rehearsal-standin", "us-east5", "shared"
ZONE = "us-east5-b"
SYSTEM_POOL = NodePool(name="system", zone=ZONE, machine_type="e2-standard-8", node_count=1)
TPU_POOL = NodePool(
    name="tpu",
    zone=ZONE,
    machine_type="ct6e-standard-4t",
    node_count=8,
    chips_per_host=4,
    tpu_topology="4x8",
    memory_gib=720,
    disk_size_gb=500,
)


def require_toolchain() -> None:
    """Skip a test where the control plane's programs are absent."""
    missing = [name for name in ("kube", "jobset") if not (toolchain.bin_folder() / name).exists()]
    if missing:
        pytest.skip(f"{', '.join(missing)} not in {toolchain.bin_folder()}: run `make setup`")


def require_object_store() -> None:
    """Skip a test where the object store's program is absent."""
    try:
        objectstore.binary()
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture
def fresh_cloud(tmp_path: Path) -> Iterator[Cloud]:
    """A cloud of the test's own, not started yet; whatever runs at the end is ended."""
    require_toolchain()
    cloud = Cloud(tmp_path / "home")
    yield cloud
    cloud.down()


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """The shared cloud, up, with one cluster, a system node and eight hosts of a v6e-32."""
    require_toolchain()
    cloud = Cloud(tmp_path_factory.mktemp("cloud"))
    try:
        cloud.create_cluster(PROJECT, LOCATION, CLUSTER)
        for pool in (SYSTEM_POOL, TPU_POOL):
            cloud.set_node_pool(PROJECT, LOCATION, CLUSTER, pool)
        yield cloud
    finally:
        cloud.down()


def kube_client(cloud: Cloud) -> client.ApiClient:
    """An API client with the administrator's kubeconfig of a cloud."""
    settings = client.Configuration()
    kubeconfig = yaml.safe_load((cloud.home / "kubeconfig").read_text())
    config.load_kube_config_from_dict(kubeconfig, client_configuration=settings)
    return client.ApiClient(settings)


@pytest.fixture(scope="session")
def api_client(cloud: Cloud) -> Iterator[client.ApiClient]:
    """An administrator's client of the shared cluster."""
    with kube_client(cloud) as found:
        yield found


@pytest.fixture
def namespace(api_client: client.ApiClient) -> Iterator[str]:
    """A namespace of the test's own, removed with everything in it."""
    core = client.CoreV1Api(api_client)
    name = f"test-{uuid.uuid4().hex[:8]}"
    core.create_namespace({"metadata": {"name": name}})
    yield name
    core.delete_namespace(name)


@pytest.fixture
def kube(api_client: client.ApiClient, namespace: str) -> Kube:
    """What tests do with JobSets and pods in their own namespace."""
    return Kube(api_client, namespace)


@pytest.fixture
def kubeconfig(cloud: Cloud) -> str:
    """The shared cluster's kubeconfig as JSON."""
    return json.dumps(yaml.safe_load((cloud.home / "kubeconfig").read_text()))
