"""What is said of a bucket that cannot be used the way the settings ask."""

import pytest

from tests.workloads.provider.fake_bucket import CALLER, FakeBucket
from workloads.provider import buckets
from workloads.provider.buckets import (
    adopted_bucket_problems,
    existing_bucket_problems,
    new_bucket_problems,
)
from workloads.provider.objects import ObjectStoreError

ADOPT = "`pulumi config set --path cluster.adopt_bucket true`"


def test_a_free_name_is_no_problem_for_a_new_bucket(bucket: FakeBucket) -> None:
    bucket.exists = False
    assert new_bucket_problems("bucket") == []
    assert bucket.paths == ["/storage/v1/b/bucket"]


def test_a_bucket_that_exists_is_refused_with_the_settings_that_help(bucket: FakeBucket) -> None:
    [line] = new_bucket_problems("bucket")
    assert line.startswith("gs://bucket exists already")
    for part in ("cluster.adopt_bucket: true", ADOPT, "cluster.existing_bucket: true"):
        assert part in line
    assert line.endswith("choose another cluster.bucket")


def test_the_name_of_somebody_elses_bucket_is_refused_as_that(bucket: FakeBucket) -> None:
    bucket.forbidden = 1
    [line] = new_bucket_problems("bucket")
    assert "belongs to someone else" in line
    assert CALLER in line
    assert line.endswith("choose another cluster.bucket")
    assert "adopt_bucket" not in line


def test_a_bucket_that_is_there_can_be_taken_back_or_used(bucket: FakeBucket) -> None:
    """Of somebody else's bucket, only the objects are asked for."""
    assert adopted_bucket_problems("bucket") == []
    assert existing_bucket_problems("bucket") == []
    assert bucket.paths == ["/storage/v1/b/bucket", "/storage/v1/b/bucket/o"]


def test_a_kept_bucket_that_is_gone_is_refused_by_its_setting(bucket: FakeBucket) -> None:
    bucket.exists = False
    [line] = adopted_bucket_problems("bucket")
    assert "gs://bucket does not exist" in line
    assert "remove cluster.adopt_bucket" in line


def test_a_foreign_bucket_that_is_missing_is_refused_by_its_setting(bucket: FakeBucket) -> None:
    bucket.exists = False
    [line] = existing_bucket_problems("bucket")
    assert "gs://bucket does not exist" in line
    assert "remove cluster.existing_bucket" in line


def test_a_bucket_that_may_not_be_read_is_refused_with_the_grant_that_is_missing(
    bucket: FakeBucket,
) -> None:
    bucket.forbidden = 2
    [adopted] = adopted_bucket_problems("bucket")
    [existing] = existing_bucket_problems("bucket")
    assert f"{CALLER} is denied storage.buckets.get" in adopted
    assert "roles/storage.admin" in adopted
    assert f"{CALLER} is denied storage.objects.list" in existing
    assert "roles/storage.objectUser" in existing


def test_a_bucket_that_cannot_be_looked_up_is_one_clear_line(
    bucket: FakeBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is known then, and what the run needs would be missing once the chips bill."""
    monkeypatch.setattr(buckets, "_RETRY_SECONDS", 0.1)
    bucket.close()
    for check in (new_bucket_problems, adopted_bucket_problems, existing_bucket_problems):
        with pytest.raises(ObjectStoreError, match=r"^gs://bucket cannot be looked up: .+$"):
            check("bucket")
