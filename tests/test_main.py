"""The program as a whole, as the engine sees it."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from tests.conftest import (
    CANARY,
    PROJECT,
    ROOT,
    STACK_FILES,
    Recorder,
    Registered,
    deploy,
    secret_value,
    stack_config,
)

GUIDE = ROOT / "examples" / "guide.yaml"
FILLED_IN = {
    "project": "my-project",
    "region": "us-east5",
    "zone": "us-east5-b",
    "name": "gemma",
    "bucket": "my-bucket",
    "reservation": "my-reservation",
}
INSIDE_THE_CLUSTER = ("kubernetes:", "maxtext:index:Stage")
BILLED = ("gcp:compute/", "gcp:container/", "gcp:storage/bucket:")


def guide(cluster: dict[str, Any] | None = None, **run: Any) -> Recorder:
    """Run the program with the guide's stack file, filled in, with some keys changed."""
    return _guide(json.dumps(cluster or {}), json.dumps(run))


@cache
def _guide(cluster: str, run: str) -> Recorder:
    changes = {**FILLED_IN, **json.loads(cluster)}
    return deploy(stack_config(GUIDE, cluster=changes, run=json.loads(run)))


@pytest.fixture(scope="module")
def spot() -> Recorder:
    """The program on spot capacity."""
    return deploy(
        stack_config(GUIDE, cluster={**FILLED_IN, "capacity": "spot", "reservation": None})
    )


@pytest.fixture(scope="module")
def reserved() -> Recorder:
    """The program as the guide has it, with a token."""
    config = stack_config(GUIDE, cluster=FILLED_IN)
    return deploy({**config, f"{PROJECT}:hf_token": CANARY})


def is_component(entry: Registered) -> bool:
    """Whether the resource is a component of ours or the stack itself."""
    return not entry.request.custom


def test_stages_are_exported_in_order(stack: Recorder) -> None:
    names = [stage["name"] for stage in stack.exports["stages"]]
    assert names == ["hf-to-mt", "sft", "mt-to-hf"]


def test_exports_are_what_the_next_command_needs(stack: Recorder) -> None:
    assert set(stack.exports) == {"bucket", "cluster", "stages", "next", "still_billing"}
    assert stack.exports["still_billing"][-1].startswith("stop it with `pulumi destroy`")
    assert stack.exports["stages"][-1]["url"] in stack.exports["next"][0]


def test_each_stage_waits_for_the_one_before(stack: Recorder) -> None:
    """On the request's dependencies: the order of registration proves nothing."""
    stages = stack.all("maxtext:index:Stage")
    assert len(stages) == 3
    for before, after in pairwise(stages):
        assert before.urn in after.request.dependencies


def test_each_stage_reads_what_an_earlier_one_leaves(stack: Recorder) -> None:
    left: dict[str, str] = {}
    for stage in stack.all("maxtext:index:Stage"):
        for read in stage.inputs["reads"]:
            assert read["url"] == left[read["stage"]]
            assert read["digest"] == "d1"
        urls = [entry["url"] for entry in stage.inputs["finished"]]
        assert urls == list(left.values())
        left[stage.inputs["stage"]] = stage.inputs["url"]


def test_no_two_stages_share_a_directory(stack: Recorder) -> None:
    directories = [stage.inputs["directory"] for stage in stack.all("maxtext:index:Stage")]
    assert len(set(directories)) == len(directories)
    for one in directories:
        assert one.endswith("/")
        assert not [other for other in directories if other != one and other.startswith(one)]


def test_stages_wait_for_their_rights_their_namespace_and_every_pool(stack: Recorder) -> None:
    first = stack.all("maxtext:index:Stage")[0]
    needed = stack.needs(first)
    for kind in (
        "gcp:storage/bucketIAMMember:BucketIAMMember",
        "gcp:container/nodePool:NodePool",
        "kubernetes:core/v1:ServiceAccount",
        "kubernetes:core/v1:Secret",
        "gcp:storage/bucket:Bucket",
    ):
        assert {entry.urn for entry in stack.all(kind)} <= needed, kind


def test_everything_billed_waits_for_the_preflight(stack: Recorder) -> None:
    preflight = stack.one("maxtext:index:Preflight")
    billed = [entry for entry in stack.resources if entry.kind.startswith(BILLED)]
    assert len(billed) > 8
    for entry in billed:
        assert preflight.urn in stack.needs(entry), entry.name


def test_the_preflight_is_told_how_the_bucket_is_to_be_used(reserved: Recorder) -> None:
    def bucket(recorder: Recorder) -> dict[str, Any]:
        inputs = recorder.one("maxtext:index:Preflight").inputs
        assert inputs.pop("commands") == ["gke-gcloud-auth-plugin"]
        return inputs

    name = FILLED_IN["bucket"]
    assert bucket(reserved) == {"new_bucket": name}
    assert bucket(guide(cluster={"adopt_bucket": True})) == {"adopted_bucket": name}
    foreign = guide(cluster={"existing_bucket": True, "project_number": 42})
    assert bucket(foreign) == {"existing_bucket": name}


def test_the_preflight_waits_for_the_services_alone(stack: Recorder) -> None:
    needed = stack.needs(stack.one("maxtext:index:Preflight"))
    services = {entry.urn for entry in stack.all("gcp:projects/service:Service")}
    assert services <= needed
    kinds = {
        entry.kind for entry in stack.resources if entry.urn in needed and entry.request.custom
    }
    assert kinds == {"gcp:projects/service:Service"}


def test_identity_pool_grants_wait_for_the_cluster(stack: Recorder) -> None:
    """A project that never had such a cluster has no identity pool to grant to."""
    cluster = stack.one("gcp:container/cluster:Cluster")
    for grant in stack.all("gcp:storage/bucketIAMMember:BucketIAMMember"):
        assert cluster.urn in stack.needs(grant)


def test_every_resource_lies_in_a_component(stack: Recorder) -> None:
    by_urn = {entry.urn: entry for entry in stack.resources}
    for entry in stack.resources:
        if entry.kind == "pulumi:pulumi:Stack":
            continue
        parent = by_urn[entry.request.parent]
        assert is_component(parent), entry.name
        if entry.request.custom:
            assert parent.kind.startswith("maxtext:"), entry.name


def test_every_component_registers_its_outputs(stack: Recorder) -> None:
    components = {entry.urn for entry in stack.resources if is_component(entry)}
    assert len(components) > 9
    assert components <= stack.finished


def test_every_resource_of_google_uses_the_provider_of_its_project(stack: Recorder) -> None:
    (google,) = stack.all("pulumi:providers:gcp")
    for entry in stack.resources:
        if entry.kind.startswith("gcp:"):
            assert entry.request.provider.startswith(google.urn), entry.name


def test_every_object_in_the_cluster_uses_its_provider(stack: Recorder) -> None:
    (kubernetes,) = stack.all("pulumi:providers:kubernetes")
    objects = [entry for entry in stack.resources if entry.kind.startswith("kubernetes:")]
    assert objects
    for entry in objects:
        assert entry.request.provider.startswith(kubernetes.urn), entry.name


def test_what_lies_in_the_cluster_goes_with_it(stack: Recorder) -> None:
    cluster = stack.one("gcp:container/cluster:Cluster")
    inside = [entry for entry in stack.resources if entry.kind.startswith(INSIDE_THE_CLUSTER)]
    assert len(inside) >= 6
    for entry in inside:
        assert entry.request.deletedWith == cluster.urn, entry.name


def test_pools_are_deleted_themselves_so_that_a_cluster_that_stays_hides_no_bill(
    stack: Recorder,
) -> None:
    pools = stack.all("gcp:container/nodePool:NodePool")
    assert pools
    for pool in pools:
        assert pool.request.deletedWith == "", pool.name


def test_the_token_appears_in_its_secret_only_and_as_a_secret(stack: Recorder) -> None:
    secret = stack.one("kubernetes:core/v1:Secret")
    assert secret_value(secret.inputs["stringData"])["token"] == CANARY
    for entry in stack.resources:
        if entry.urn != secret.urn:
            assert CANARY not in json.dumps(entry.inputs), entry.name
    assert CANARY not in json.dumps(stack.exports)


def test_a_secret_environment_variable_travels_in_its_secret_only() -> None:
    config = stack_config(GUIDE, cluster=FILLED_IN, run={"secret_env": {"WANDB_API_KEY": CANARY}})
    recorder = deploy(config, secret_keys=[f"{PROJECT}:run"])
    secret = recorder.one("kubernetes:core/v1:Secret")
    assert secret_value(secret.inputs["stringData"]) == {"WANDB_API_KEY": CANARY}
    for entry in recorder.resources:
        if entry.urn != secret.urn:
            assert CANARY not in json.dumps(entry.inputs), entry.name
    sft = recorder.one("maxtext:index:Stage", "run-sft").inputs["manifest"]
    job = sft["spec"]["replicatedJobs"][0]["template"]["spec"]
    env = {e["name"]: e for e in job["template"]["spec"]["containers"][0]["env"]}
    reference = env["WANDB_API_KEY"]["valueFrom"]["secretKeyRef"]
    assert (reference["name"], reference["key"]) == ("run-environment", "WANDB_API_KEY")


@pytest.mark.parametrize("run", [{"env": {"WANDB_API_KEY": CANARY}}, {}])
def test_a_secret_where_values_are_shown_is_refused(run: dict[str, Any]) -> None:
    config = stack_config(GUIDE, cluster=FILLED_IN, run=run)
    with pytest.raises(pulumi.RunError, match=r"pulumi config set --secret --path run.secret_env"):
        deploy(config, secret_keys=[f"{PROJECT}:run"])


def test_without_a_token_there_is_no_secret() -> None:
    assert guide().all("kubernetes:core/v1:Secret") == []


def test_the_kubeconfig_is_a_secret_wherever_it_goes(stack: Recorder) -> None:
    for stage in stack.all("maxtext:index:Stage"):
        assert "gke-gcloud-auth-plugin" in secret_value(stage.inputs["kubeconfig"])
    provider = stack.one("pulumi:providers:kubernetes")
    assert "gke-gcloud-auth-plugin" in secret_value(provider.inputs["kubeconfig"])


def test_a_recreated_cluster_does_not_pass_for_the_old_one(stack: Recorder) -> None:
    provider = stack.one("pulumi:providers:kubernetes")
    assert provider.inputs["clusterIdentifier"] == "gke-1f00.us-east5.gke.goog"


def test_rights_are_these_and_no_other(stack: Recorder) -> None:
    project = {entry.inputs["role"] for entry in stack.all("projects/iAMMember:IAMMember")}
    bucket = {
        entry.inputs["role"] for entry in stack.all("storage/bucketIAMMember:BucketIAMMember")
    }
    assert project == {"roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader"}
    assert bucket == {"roles/storage.objectAdmin", "roles/storage.legacyBucketReader"}


def test_grants_only_add(stack: Recorder) -> None:
    """A binding or a policy would take the role from everybody else, on create or on destroy."""
    for entry in stack.resources:
        if "iam" in entry.kind.lower():
            assert entry.kind.lower().endswith("iammember"), entry.kind


def test_nothing_is_public(stack: Recorder) -> None:
    for entry in stack.resources:
        text = json.dumps(entry.inputs)
        assert "allUsers" not in text, entry.name
        assert "allAuthenticatedUsers" not in text, entry.name
        assert "0.0.0.0/0" not in text, entry.name
        assert "LoadBalancer" not in text, entry.name
    bucket = stack.one("gcp:storage/bucket:Bucket").inputs
    assert bucket["publicAccessPrevention"] == "enforced"
    assert bucket["uniformBucketLevelAccess"] is True


def test_pods_act_as_their_own_account_with_the_clusters_project_number(stack: Recorder) -> None:
    namespace = stack.one("kubernetes:core/v1:Namespace").inputs["metadata"]["name"]
    project = stack.exports["cluster"]["project"]
    for grant in stack.all("gcp:storage/bucketIAMMember:BucketIAMMember"):
        assert grant.inputs["member"] == (
            "principal://iam.googleapis.com/projects/123456789012/locations/global/"
            f"workloadIdentityPools/{project}.svc.id.goog/subject/ns/{namespace}/sa/maxtext"
        )


def test_with_host_network_the_nodes_account_gets_the_rights() -> None:
    """Pods on the host's network bypass the metadata server."""
    recorder = guide(cluster={"host_network": True})
    for grant in recorder.all("gcp:storage/bucketIAMMember:BucketIAMMember"):
        assert grant.inputs["member"] == "serviceAccount:gemma-tpu-nodes@nodes"


def test_the_slice_is_counted_once_and_lies_in_one_zone(reserved: Recorder) -> None:
    """A regional pool counts its nodes for each zone: eight would become twenty-four."""
    pool = reserved.one("gcp:container/nodePool:NodePool", "cluster-pools-tpu-0").inputs
    sft = reserved.one("maxtext:index:Stage", "run-sft").inputs
    job = sft["manifest"]["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert pool["nodeCount"] == job["parallelism"] == job["completions"] == 8
    for entry in reserved.all("gcp:container/nodePool:NodePool"):
        assert entry.inputs["nodeLocations"] == ["us-east5-b"], entry.name
    cluster = reserved.one("gcp:container/cluster:Cluster").inputs
    assert cluster["nodeLocations"] == ["us-east5-b"]
    assert cluster["location"] == "us-east5"


def test_the_reserved_slice_is_the_guides(reserved: Recorder) -> None:
    pool = reserved.one("gcp:container/nodePool:NodePool", "cluster-pools-tpu-0").inputs
    assert pool["placementPolicy"] == {"type": "COMPACT", "tpuTopology": "4x8"}
    node = pool["nodeConfig"]
    assert node["machineType"] == "ct6e-standard-4t"
    assert node["diskType"] == "hyperdisk-balanced"
    assert node["reservationAffinity"] == {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["my-reservation"],
    }
    system = reserved.one("gcp:container/nodePool:NodePool", "cluster-pools-system").inputs
    assert system["nodeConfig"]["machineType"] == "e2-standard-8"


def test_another_topology_is_another_pool_made_after_the_old_one_is_gone(stack: Recorder) -> None:
    """GKE's node pool API has no call that changes the placement policy of a pool."""
    for entry in stack.all("gcp:container/nodePool:NodePool"):
        is_slice = "-tpu-" in entry.name
        assert list(entry.request.replaceOnChanges) == ["placementPolicy"] * is_slice, entry.name
        assert entry.request.deleteBeforeReplace is is_slice, entry.name
        assert entry.request.customTimeouts.create == "4h", entry.name


@pytest.mark.parametrize("tpu", ["v6e-1", "v6e-4"])
def test_a_single_host_slice_has_no_placement_policy(tpu: str) -> None:
    recorder = guide(cluster={"tpu": tpu}, model_name="qwen3-0.6b")
    pool = recorder.one("gcp:container/nodePool:NodePool", "cluster-pools-tpu-0").inputs
    assert "placementPolicy" not in pool
    assert pool["nodeCount"] == 1


def test_every_pool_has_an_account_of_its_own_kind(stack: Recorder) -> None:
    for entry in stack.all("gcp:container/nodePool:NodePool"):
        kind = "sys" if entry.name.endswith("system") else "tpu"
        assert f"-{kind}-nodes@" in entry.inputs["nodeConfig"]["serviceAccount"]
    cluster = stack.one("gcp:container/cluster:Cluster").inputs
    assert "-sys-nodes@" in cluster["nodeConfig"]["serviceAccount"]
    assert cluster["removeDefaultNodePool"] is True
    assert cluster["initialNodeCount"] == 1


def test_unreserved_pools_are_empty_until_a_stage_needs_them(spot: Recorder) -> None:
    pool = spot.one("gcp:container/nodePool:NodePool", "cluster-pools-tpu-0").inputs
    assert pool["initialNodeCount"] == 0
    assert "nodeCount" not in pool
    assert (pool["autoscaling"]["minNodeCount"], pool["autoscaling"]["maxNodeCount"]) == (0, 8)
    assert pool["nodeConfig"]["spot"] is True
    assert "reservationAffinity" not in pool["nodeConfig"]
    conversion = spot.one("gcp:container/nodePool:NodePool", "cluster-pools-conversion").inputs
    assert conversion["initialNodeCount"] == 0
    assert conversion["nodeConfig"]["taints"][0]["key"] == "maxtext-sft/conversion"


def test_flex_start_takes_no_reservation_and_no_repair() -> None:
    recorder = guide(cluster={"capacity": "flex-start", "reservation": None})
    pool = recorder.one("gcp:container/nodePool:NodePool", "cluster-pools-tpu-0").inputs
    assert pool["nodeConfig"]["flexStart"] is True
    affinity = pool["nodeConfig"]["reservationAffinity"]
    assert affinity == {"consumeReservationType": "NO_RESERVATION"}
    assert pool["management"]["autoRepair"] is False


def test_several_slices_are_several_pools_and_replicas() -> None:
    recorder = guide(cluster={"num_slices": 2})
    names = [entry.name for entry in recorder.all("gcp:container/nodePool:NodePool")]
    assert sorted(names) == ["cluster-pools-system", "cluster-pools-tpu-0", "cluster-pools-tpu-1"]
    sft = recorder.one("maxtext:index:Stage", "run-sft").inputs
    assert sft["manifest"]["spec"]["replicatedJobs"][0]["replicas"] == 2
    assert sft["settings"]["global_batch_size"] == 64
    assert sft["chips"] == 64


def test_pools_are_waited_for_in_hours(stack: Recorder) -> None:
    for entry in stack.all("gcp:container/nodePool:NodePool"):
        assert entry.request.customTimeouts.create == "4h", entry.name


def test_the_engine_never_gives_up_before_the_stage_does(stack: Recorder) -> None:
    for stage in stack.all("maxtext:index:Stage"):
        hours = int(stage.request.customTimeouts.create.removesuffix("h"))
        restarts = stage.inputs["manifest"]["spec"]["failurePolicy"]["maxRestarts"]
        assert hours * 60 > stage.inputs["timeout_minutes"] * (restarts + 1)


def test_results_outlive_the_stack_unless_asked_otherwise() -> None:
    kept = guide().one("gcp:storage/bucket:Bucket")
    assert kept.request.retainOnDelete is True
    assert kept.inputs["forceDestroy"] is False
    deleted = guide(cluster={"delete_bucket_on_destroy": True}).one("gcp:storage/bucket:Bucket")
    assert deleted.request.retainOnDelete is False
    assert deleted.inputs["forceDestroy"] is True


def test_a_kept_bucket_is_taken_back_by_its_name() -> None:
    assert guide().one("gcp:storage/bucket:Bucket").request.importId == ""
    adopted = guide(cluster={"adopt_bucket": True}).one("gcp:storage/bucket:Bucket")
    assert adopted.request.importId == "my-bucket"
    # The provider reads neither back, and an import that differs in anything is refused.
    assert set(adopted.request.ignoreChanges) == {"labels", "forceDestroy"}


def test_a_foreign_bucket_is_not_in_the_state() -> None:
    recorder = guide(cluster={"existing_bucket": True, "project_number": 42})
    assert recorder.all("gcp:storage/bucket:Bucket") == []
    for grant in recorder.all("gcp:storage/bucketIAMMember:BucketIAMMember"):
        assert grant.inputs["bucket"] == "my-bucket"
        assert "/projects/42/" in grant.inputs["member"]


def test_the_bucket_lies_in_the_region_and_keeps_nothing_deleted_unasked(stack: Recorder) -> None:
    bucket = stack.one("gcp:storage/bucket:Bucket").inputs
    assert bucket["location"] == "US-EAST5"
    assert bucket["softDeletePolicy"] == {"retentionDurationSeconds": 0}


def test_the_control_plane_is_reached_by_name_and_guarded_by_iam(reserved: Recorder) -> None:
    cluster = reserved.one("gcp:container/cluster:Cluster").inputs
    assert cluster["controlPlaneEndpointsConfig"] == {
        "dnsEndpointConfig": {"allowExternalTraffic": True},
        "ipEndpointsConfig": {"enabled": False},
    }
    assert "masterAuthorizedNetworksConfig" not in cluster
    kubeconfig = secret_value(reserved.one("pulumi:providers:kubernetes").inputs["kubeconfig"])
    assert "https://gke-1f00.us-east5.gke.goog" in kubeconfig
    assert "certificate-authority-data" not in kubeconfig


def test_by_address_the_control_plane_is_open_to_the_named_ranges_only() -> None:
    recorder = guide(cluster={"endpoint": "ip", "authorized_cidrs": ["203.0.113.7/32"]})
    cluster = recorder.one("gcp:container/cluster:Cluster").inputs
    blocks = cluster["masterAuthorizedNetworksConfig"]["cidrBlocks"]
    assert [block["cidrBlock"] for block in blocks] == ["203.0.113.7/32"]
    assert cluster["controlPlaneEndpointsConfig"]["dnsEndpointConfig"] == {
        "allowExternalTraffic": False
    }
    kubeconfig = secret_value(recorder.one("pulumi:providers:kubernetes").inputs["kubeconfig"])
    assert "https://203.0.113.10" in kubeconfig
    assert "certificate-authority-data" in kubeconfig


def test_a_run_is_not_restarted_by_an_upgrade(stack: Recorder) -> None:
    policy = stack.one("gcp:container/cluster:Cluster").inputs["maintenancePolicy"]
    (exclusion,) = policy["maintenanceExclusions"]
    assert exclusion["exclusionOptions"]["scope"] == "NO_MINOR_OR_NODE_UPGRADES"


def test_nodes_are_private_and_their_pods_have_an_identity(stack: Recorder) -> None:
    cluster = stack.one("gcp:container/cluster:Cluster").inputs
    assert cluster["privateClusterConfig"]["enablePrivateNodes"] is True
    assert cluster["workloadIdentityConfig"]["workloadPool"].endswith(".svc.id.goog")
    for entry in stack.all("gcp:container/nodePool:NodePool"):
        assert entry.inputs["nodeConfig"]["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
    subnet = stack.one("gcp:compute/subnetwork:Subnetwork").inputs
    assert subnet["privateIpGoogleAccess"] is True


def test_the_firewall_opens_the_webhook_and_the_coordinator_only(stack: Recorder) -> None:
    ports = {
        port
        for rule in stack.all("gcp:compute/firewall:Firewall")
        for allowed in rule.inputs["allows"]
        for port in allowed["ports"]
    }
    assert ports == {"9443", "8482"}


def test_the_controller_is_pinned_or_found() -> None:
    release = guide().one("kubernetes:helm.sh/v3:Release")
    assert release.inputs["version"] == "0.12.0"
    assert release.inputs["chart"].startswith("oci://registry.k8s.io/jobset/")
    other = guide(cluster={"jobset_version": "0.12.1"}).one("kubernetes:helm.sh/v3:Release")
    assert other.inputs["version"] == "0.12.1"
    existing = guide(cluster={"jobset_controller": "existing"})
    assert existing.all("kubernetes:helm.sh/v3:Release") == []


def test_the_cluster_can_be_protected(reserved: Recorder) -> None:
    assert reserved.one("gcp:container/cluster:Cluster").inputs["deletionProtection"] is False
    assert reserved.one("gcp:container/cluster:Cluster").request.protect is not True
    guarded = guide(cluster={"deletion_protection": True}).one("gcp:container/cluster:Cluster")
    assert guarded.inputs["deletionProtection"] is True
    # Google refuses only after the engine has dropped all that lies in the cluster.
    assert guarded.request.protect is True


def test_labels_of_an_organisation_go_where_they_replace_nothing() -> None:
    """Node labels would replace a pool; resource labels are updated in place."""
    plain, labelled = guide(), guide(cluster={"labels": {"env": "dev"}})
    assert labelled.one("gcp:storage/bucket:Bucket").inputs["labels"]["env"] == "dev"
    assert labelled.one("gcp:container/cluster:Cluster").inputs["resourceLabels"]["env"] == "dev"
    for after in labelled.all("nodePool:NodePool"):
        assert "labels" not in after.inputs["nodeConfig"]
        assert after.inputs["nodeConfig"]["resourceLabels"]["env"] == "dev"
    for before, after in zip(
        plain.all("maxtext:index:Stage"), labelled.all("maxtext:index:Stage"), strict=True
    ):
        assert before.inputs["settings"] == after.inputs["settings"]


def test_disks_are_as_large_as_asked() -> None:
    pool = guide(cluster={"tpu_disk_size_gb": 500}).one("NodePool", "cluster-pools-tpu-0").inputs
    assert pool["nodeConfig"]["diskSizeGb"] == 500


def test_services_stay_enabled_on_destroy(stack: Recorder) -> None:
    services = stack.all("gcp:projects/service:Service")
    assert len(services) > 5
    assert all(entry.inputs["disableOnDestroy"] is False for entry in services)


def test_a_preview_of_a_new_stack_needs_nothing_and_shows_all_stages() -> None:
    recorder = deploy(stack_config(GUIDE, cluster=FILLED_IN), preview=True)
    assert len(recorder.all("maxtext:index:Stage")) == 3


def test_bad_config_is_one_message_and_nothing_is_declared() -> None:
    changes = {"tpu_topology": "4x4", "name": "n" * 25, "zone": "us-central1-a", "zones": ["a"]}
    config = stack_config(GUIDE, cluster={**FILLED_IN, **changes}, run={"steps": "abc"})
    recorder = Recorder()
    with pytest.raises(pulumi.RunError) as caught:
        deploy(config, recorder=recorder)
    text = str(caught.value)
    assert text.startswith("5 settings of this stack cannot be used:")
    for key in ("tpu_topology", "name", "zone", "zones"):
        assert f"cluster.{key}" in text
    assert "run.steps" in text
    assert [entry.kind for entry in recorder.resources] == ["pulumi:pulumi:Stack"]


@pytest.mark.parametrize("token", [" ", '"hf_abc"'])
def test_a_token_that_is_none_is_refused_before_anything_is_declared(token: str) -> None:
    recorder = Recorder()
    config = {**stack_config(GUIDE, cluster=FILLED_IN), f"{PROJECT}:hf_token": token}
    with pytest.raises(pulumi.RunError, match="pulumi config set --secret hf_token"):
        deploy(config, recorder=recorder)
    assert [entry.kind for entry in recorder.resources] == ["pulumi:pulumi:Stack"]


@pytest.mark.parametrize("path", [*STACK_FILES.values(), *sorted(ROOT.glob("examples/*.yaml"))])
def test_every_stack_file_of_the_repository_is_valid(path: Path) -> None:
    own = yaml.safe_load(path.read_text())["config"][f"{PROJECT}:cluster"]
    filled = {
        key: value for key, value in FILLED_IN.items() if str(own.get(key)).startswith("YOUR_")
    }
    assert deploy(stack_config(path, cluster=filled)).all("maxtext:index:Stage")
