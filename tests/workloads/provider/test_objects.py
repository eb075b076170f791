"""The bucket through Google's own client: patience with fresh grants, and clear ends."""

import threading
import time

import pytest

from tests.workloads.provider.fake_bucket import FakeBucket
from workloads.provider.objects import (
    GoogleObjectStore,
    ObjectStoreError,
    PreconditionError,
    split_url,
)


def test_a_fresh_grant_is_waited_for(bucket: FakeBucket) -> None:
    """A18; and A17: only objects are asked for, never the bucket itself."""
    said: list[str] = []
    bucket.objects["a"] = (b"12345", 7)
    bucket.forbidden = 1
    [found] = GoogleObjectStore("bucket", say=said.append).list("")
    assert (found.name, found.size, found.generation) == ("a", 5, 7)
    assert len(said) == 1, bucket.paths
    assert set(bucket.paths) == {"/storage/v1/b/bucket/o"}


def test_a_grant_that_never_comes_is_named_with_identity_bucket_and_permission(
    bucket: FakeBucket,
) -> None:
    bucket.forbidden = 1000
    text = "trainer@p.iam.*gs://bucket/.*storage.objects.list"
    began = time.monotonic()
    with pytest.raises(ObjectStoreError, match=text):
        list(GoogleObjectStore("bucket", patience_seconds=0.6).list(""))
    assert time.monotonic() - began < 5


def test_waiting_for_a_grant_can_be_interrupted(bucket: FakeBucket) -> None:
    bucket.forbidden = 1000
    stop = threading.Event()
    stop.set()
    with pytest.raises(ObjectStoreError, match="interrupted"):
        list(GoogleObjectStore("bucket", stop=stop).list(""))


def test_a_write_needs_the_generation_that_was_read(bucket: FakeBucket) -> None:
    store = GoogleObjectStore("bucket")
    assert store.write("r", b"{}", 0) == 1
    assert store.write("r", b"{1}", 1) == 2
    with pytest.raises(PreconditionError):
        store.write("r", b"{2}", 1)
    assert store.read("r") == b"{1}"
    assert store.stat("missing") is None
    assert store.read("missing") is None


def test_a_write_whose_answer_got_lost_is_not_taken_for_somebody_elses(bucket: FakeBucket) -> None:
    bucket.lose_answer = True
    assert GoogleObjectStore("bucket").write("r", b"{}", 0) == 1


@pytest.mark.parametrize("url", ["gs://b", "gs://b/a", "s3://b/a/", "gs:///a/", "b/a/", "gs://b//"])
def test_a_folder_without_its_closing_slash_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="gs://bucket/folder/"):
        split_url(url)
    assert split_url("gs://my-bucket/a/b/") == ("my-bucket", "a/b/")
