from __future__ import annotations

import pytest

from rehearsal.plugin import RefusedError
from tests.rehearsal.google.stack import EMAIL, NUMBER, PRINCIPAL, Stack, resource, valid

ACCOUNT = "gcp:serviceaccount/account:Account"
GRANT = "gcp:storage/bucketIAMMember:BucketIAMMember"
PROJECT_GRANT = "gcp:projects/iAMMember:IAMMember"
SERVICE = "gcp:projects/service:Service"
CLUSTER = "gcp:container/cluster:Cluster"


def test_an_account_returns_the_names_that_grants_use(stack: Stack) -> None:
    stack.create_until(ACCOUNT)
    object_id, outputs = stack.create(ACCOUNT)
    assert object_id.endswith(f"/serviceAccounts/{EMAIL}")
    assert (outputs["email"], outputs["member"]) == (EMAIL, f"serviceAccount:{EMAIL}")
    with pytest.raises(RefusedError, match="Error 409"):
        stack.create(ACCOUNT)


def test_a_grant_to_an_account_that_does_not_exist_is_refused(stack: Stack) -> None:
    stack.create_until(ACCOUNT)
    with pytest.raises(RefusedError, match=f"Service account {EMAIL} does not exist"):
        stack.create(PROJECT_GRANT)


def test_a_workload_identity_grant_needs_the_projects_first_cluster(stack: Stack) -> None:
    """In a project that never had such a cluster the identity pool does not exist."""
    stack.create("gcp:storage/bucket:Bucket")
    with pytest.raises(RefusedError, match="Identity Pool does not exist"):
        stack.create(GRANT)


def test_the_identity_pool_outlives_its_cluster(stack: Stack) -> None:
    stack.create_until(CLUSTER)
    object_id, outputs = stack.create(CLUSTER)
    stack.create(GRANT)
    stack.provider.delete(resource(CLUSTER, object_id), outputs, 0)
    stack.create(GRANT, role="roles/storage.legacyBucketReader")


def test_a_principal_with_the_number_of_another_project_is_refused(stack: Stack) -> None:
    stack.create_until(CLUSTER)
    stack.create(CLUSTER)
    with pytest.raises(RefusedError, match="project number 1 is not the number"):
        stack.create(GRANT, member=PRINCIPAL.replace(NUMBER, "1"))


def test_the_same_grant_twice_is_no_conflict(stack: Stack) -> None:
    stack.create_until(CLUSTER)
    stack.create(CLUSTER)
    assert stack.create(GRANT)[0] == stack.create(GRANT)[0]


def test_a_service_stays_enabled_after_its_deletion_unless_asked_otherwise(stack: Stack) -> None:
    object_id, outputs = stack.create(SERVICE)
    stack.create("gcp:compute/network:Network")
    stack.provider.delete(resource(SERVICE, object_id), outputs, 0)
    stack.create("gcp:compute/network:Network", name="other")
    stack.provider.delete(resource(SERVICE, object_id), valid(SERVICE, disableOnDestroy=True), 0)
    with pytest.raises(RefusedError, match="Error 403"):
        stack.create("gcp:compute/network:Network", name="third")
