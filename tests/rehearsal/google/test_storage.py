from __future__ import annotations

import json

import pytest

from rehearsal.plugin import RefusedError
from tests.rehearsal.google.stack import Stack, resource, valid

BUCKET = "gcp:storage/bucket:Bucket"
GRANT = "gcp:storage/bucketIAMMember:BucketIAMMember"


def test_a_bucket_of_ours_that_exists_is_a_conflict(stack: Stack) -> None:
    stack.create(BUCKET)
    with pytest.raises(RefusedError, match=r"Error 409: .*you already own it"):
        stack.create(BUCKET)


def test_a_bucket_of_somebody_else_is_a_conflict(stack: Stack) -> None:
    stack.cloud.buckets.add("demo-results")
    with pytest.raises(RefusedError, match="Error 409: The requested bucket name is not available"):
        stack.create(BUCKET)
    assert stack.cloud.buckets == {"demo-results"}


def test_a_bucket_with_objects_is_deleted_only_by_force(stack: Stack) -> None:
    object_id, outputs = stack.create(BUCKET)
    stack.cloud.full.add("demo-results")
    with pytest.raises(RefusedError, match="without `force_destroy` set to true"):
        stack.provider.delete(resource(BUCKET, object_id), outputs, 0)
    assert stack.cloud.buckets == {"demo-results"}
    stack.provider.delete(resource(BUCKET, object_id), {**outputs, "forceDestroy": True}, 0)
    assert not stack.cloud.buckets


def test_a_location_in_small_letters_is_the_same_location(stack: Stack) -> None:
    _, outputs = stack.create(BUCKET, location="us-east5")
    assert outputs["location"] == "US-EAST5"
    assert (outputs["url"], outputs["projectNumber"]) == ("gs://demo-results", 424242000002)
    seen = valid(BUCKET, location="US-EAST5")
    small = valid(BUCKET, location="us-east5")
    assert not stack.provider.diff(resource(BUCKET), seen, small).detailed


def test_a_grant_needs_its_bucket(stack: Stack) -> None:
    with pytest.raises(RefusedError, match=r'bucket "b/demo-results".*Error 404'):
        stack.create(GRANT, member="user:a@example.com")


def test_a_grant_may_go_to_a_bucket_of_somebody_else(stack: Stack) -> None:
    stack.cloud.buckets.add("theirs")
    object_id, _ = stack.create(GRANT, bucket="theirs", member="user:a@example.com")
    assert object_id == "b/theirs/roles/storage.objectAdmin/user:a@example.com"
    ((document),) = stack.file("storage.BucketIAMMember").glob("*.json")
    assert json.loads(document.read_text())["id"] == object_id
