"""The JobSet module's manifests are put together as its kustomization would."""

from __future__ import annotations

import pytest

from rehearsal.cloud import jobsetmanifests
from rehearsal.toolchain import folder as toolchain

pytestmark = pytest.mark.rehearsal


@pytest.fixture(scope="module")
def manifests():
    config = toolchain.share_folder() / "jobset" / "config"
    if not config.is_dir():
        pytest.skip(f"{config} is missing: run `make setup`")
    found = jobsetmanifests.definitions(config) + jobsetmanifests.access(config)
    return found + jobsetmanifests.webhooks(config, port=1234, authority="Q0E=")


def test_bindings_point_at_roles_and_accounts_that_exist(manifests):
    names = {(item["kind"], item["metadata"]["name"]) for item in manifests}
    bindings = [item for item in manifests if "roleRef" in item]
    assert bindings
    for binding in bindings:
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) in names
        for subject in binding["subjects"]:
            assert (subject["kind"], subject["name"]) in names
            assert subject["namespace"] == jobsetmanifests.NAMESPACE


def test_webhooks_reach_the_controller_on_loopback_and_pods_only_of_jobsets(manifests):
    hooks = [hook for item in manifests for hook in item.get("webhooks", [])]
    assert len(hooks) == 4
    for hook in hooks:
        assert hook["clientConfig"]["url"].startswith("https://127.0.0.1:1234/")
        assert ("objectSelector" in hook) == hook["name"].endswith("pod.kb.io")


def test_every_object_has_an_api_path(manifests):
    assert all(jobsetmanifests.path_of(item) for item in manifests)
