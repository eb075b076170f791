"""The bucket that holds every checkpoint and export, and outlives the rest of the stack."""

from __future__ import annotations

import pulumi
from pulumi_gcp.storage import Bucket

from infra.config import ClusterConfig
from infra.labels import google_labels

DAY_SECONDS = 24 * 60 * 60


class Storage(pulumi.ComponentResource):
    """The results bucket in the TPU's region, so that checkpoints never cross one.

    It stays on destroy unless `delete_bucket_on_destroy` is set. With `existing_bucket` nothing is
    declared: a bucket of somebody else is neither changed nor deleted.
    """

    bucket: pulumi.Output[str]
    url: pulumi.Output[str]
    project_number: pulumi.Output[int]

    def __init__(
        self, name: str, *, place: ClusterConfig, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("maxtext:infra:Storage", name, None, opts)
        if place.existing_bucket:
            self.bucket = pulumi.Output.from_input(place.bucket)
            self.project_number = pulumi.Output.from_input(place.project_number or 0)
        else:
            bucket = self._own_bucket(name, place)
            self.bucket = bucket.name
            self.project_number = bucket.project_number
        self.url = pulumi.Output.format("gs://{0}", self.bucket)
        self.register_outputs({"bucket": self.bucket})

    def _own_bucket(self, name: str, place: ClusterConfig) -> Bucket:
        return Bucket(
            f"{name}-bucket",
            name=place.bucket,
            project=place.project,
            location=place.region.upper(),
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            soft_delete_policy={"retention_duration_seconds": place.soft_delete_days * DAY_SECONDS},
            force_destroy=place.delete_bucket_on_destroy,
            labels=google_labels(place.labels),
            opts=pulumi.ResourceOptions(
                parent=self,
                retain_on_delete=not place.delete_bucket_on_destroy,
                import_=place.bucket if place.adopt_bucket else None,
                # An import is refused when anything differs from what the provider reads, and it
                # reads neither which labels are ours nor how the bucket is to be deleted.
                ignore_changes=["labels", "forceDestroy"] if place.adopt_bucket else None,
            ),
        )
