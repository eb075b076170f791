"""Buckets, node pools, errors and credentials as the Google double and kubectl meet them."""

from __future__ import annotations

import base64
import json
import os
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from kubernetes import client, config

from rehearsal.cloud.client import Cloud, CloudError, NodePool
from rehearsal.cloud.ports import home_ports
from tests.rehearsal.conftest import CLUSTER, LOCATION, PROJECT
from tests.rehearsal.kube import Kube, phases

pytestmark = pytest.mark.rehearsal

PLACE = (PROJECT, LOCATION, CLUSTER)
BIN = Path(__file__).resolve().parents[3] / "rehearsal" / "bin"


def put_object(cloud: Cloud, bucket: str, name: str) -> None:
    port = home_ports(cloud.home)["gcs"]
    name = urllib.parse.quote(name, safe="")
    url = f"http://127.0.0.1:{port}/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}"
    urllib.request.urlopen(urllib.request.Request(url, b"content", method="POST")).close()


def test_a_bucket_with_objects_is_deleted_only_by_force(cloud: Cloud):
    cloud.create_bucket("results")
    with pytest.raises(CloudError, match="ALREADY_EXISTS"):
        cloud.create_bucket("results")
    put_object(cloud, "results", "a/b c.txt")
    with pytest.raises(CloudError, match="CONFLICT"):
        cloud.delete_bucket("results", force=False)
    cloud.delete_bucket("results", force=True)
    assert not cloud.bucket_exists("results")
    with pytest.raises(CloudError, match="NOT_FOUND"):
        cloud.delete_bucket("results", force=True)


def test_absent_clusters_and_pools_are_said_to_be_absent(cloud: Cloud):
    with pytest.raises(CloudError, match="NOT_FOUND"):
        cloud.delete_cluster(PROJECT, LOCATION, "none")
    with pytest.raises(CloudError, match="NOT_FOUND"):
        cloud.delete_node_pool(*PLACE, "none")
    with pytest.raises(CloudError, match="ALREADY_EXISTS"):
        cloud.create_cluster(*PLACE)
    assert cloud.read_cluster(PROJECT, LOCATION, "none") is None


def test_a_pool_scales_both_ways_and_takes_its_pods_along(cloud: Cloud, kube: Kube):
    def nodes() -> int:
        selector = "cloud.google.com/gke-nodepool=extra"
        return len(kube.core.list_node(label_selector=selector).items)

    def pool(count: int) -> NodePool:
        machine = {"zone": "us-east5-b", "machine_type": "n2-highmem-32", "memory_gib": 256}
        return NodePool(name="extra", node_count=count, labels={"role": "convert"}, **machine)

    cloud.set_node_pool(*PLACE, pool(1))
    container = {"name": "main", "image": "any", "command": ["sleep", "67.5"]}
    spec = {"containers": [container], "nodeSelector": {"role": "convert"}}
    spec["terminationGracePeriodSeconds"] = 1
    kube.core.create_namespaced_pod(kube.namespace, {"metadata": {"name": "p"}, "spec": spec})
    kube.wait_pods(lambda pods: phases(pods) == ["Running"])
    cloud.set_node_pool(*PLACE, pool(3))
    assert nodes() == 3
    cloud.delete_node_pool(*PLACE, "extra")
    assert nodes() == 0
    assert kube.core.list_namespaced_pod(kube.namespace).items == []


def test_the_credential_plugin_lets_a_client_in(cloud: Cloud, monkeypatch: pytest.MonkeyPatch):
    access = cloud.read_cluster(*PLACE)
    assert access is not None
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("REHEARSAL_HOME", str(cloud.home))
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "gke-gcloud-auth-plugin",
        "interactiveMode": "Never",
    }
    server = {
        "server": f"https://{access.endpoint}",
        "certificate-authority-data": access.ca_certificate,
    }
    kubeconfig = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": server}],
        "users": [{"name": "c", "user": {"exec": plugin}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }
    settings = client.Configuration()
    config.load_kube_config_from_dict(kubeconfig, client_configuration=settings)
    with client.ApiClient(settings) as api:
        assert client.CoreV1Api(api).list_node().items


def test_what_a_cluster_answers_is_pem_in_base64(cloud: Cloud):
    access = cloud.read_cluster(*PLACE)
    assert access is not None
    for part in (access.ca_certificate, access.client_certificate, access.client_key):
        assert base64.b64decode(part).startswith(b"-----BEGIN ")
    kubeconfig = json.loads((cloud.home / "kubeconfig").read_text())
    assert kubeconfig["current-context"] == f"gke_{PROJECT}_{LOCATION}_{CLUSTER}"
