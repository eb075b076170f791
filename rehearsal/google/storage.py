"""Buckets, which are buckets of the local object store, and the grants on them."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from typing_extensions import override

from rehearsal.google.iam import Member
from rehearsal.google.kind import Call, Kind
from rehearsal.google.projects import NUMBERS
from rehearsal.google.world import World
from rehearsal.plugin import RefusedError
from rehearsal.values import UNKNOWN, Values

# https://cloud.google.com/storage/docs/buckets#naming
_NAME: Final = re.compile(r"(?!goog)[a-z0-9][a-z0-9_.-]{1,61}[a-z0-9]")


class Bucket(Kind):
    """A bucket; names are unique in the world, and content keeps it from being deleted."""

    token = "gcp:storage/bucket:Bucket"
    conflict = (
        "googleapi: Error 409: Your previous request to create the named bucket {} succeeded and "
        "you already own it., conflict"
    )
    defaults: ClassVar[Values] = {
        "storageClass": "STANDARD", "forceDestroy": False, "uniformBucketLevelAccess": False,
        "publicAccessPrevention": "inherited",
    }  # fmt: skip
    computed: ClassVar[Values] = {
        "url": UNKNOWN, "selfLink": UNKNOWN, "projectNumber": UNKNOWN, "timeCreated": UNKNOWN,
        "updated": UNKNOWN,
    }  # fmt: skip

    @override
    def problems(self, inputs: Values) -> list[tuple[str, str]]:
        name = inputs.get("name")
        if isinstance(name, str) and not _NAME.fullmatch(name):
            reason = (
                f"invalid bucket name {name!r}: 3 to 63 lower-case letters, digits, '-', '_' and "
                f"'.', beginning and ending with a letter or digit, not with 'goog'"
            )
            return [("name", reason)]
        return []

    @override
    def identity(self, call: Call) -> str:
        return str(call["name"])

    @override
    def same(self, old: Values, new: Values) -> Values:
        """Google answers locations in capitals; the real provider ignores the case."""
        before, after = old.get("location"), new.get("location")
        both = isinstance(before, str) and isinstance(after, str)
        if both and before.upper() == after.upper():  # type: ignore[union-attr]
            return {**new, "location": before}
        return new

    @override
    def admit(self, world: World, call: Call) -> None:
        name = self.identity(call)
        elsewhere = any(world.state.read(other, self.token, name) is not None for other in NUMBERS)
        if elsewhere or world.running().bucket_exists(name):
            raise RefusedError(
                "googleapi: Error 409: The requested bucket name is not available. The bucket "
                "namespace is shared by all users of the system. Please select a different name "
                "and try again., conflict"
            )

    @override
    def create(self, world: World, call: Call) -> Values:
        name = self.identity(call)
        world.running().create_bucket(name)
        return {
            "url": f"gs://{name}",
            "selfLink": f"https://www.googleapis.com/storage/v1/b/{name}",
            "projectNumber": int(call.number),
            "location": call["location"].upper(),
        }

    @override
    def read(self, world: World, call: Call) -> Values | None:
        return {} if world.running().bucket_exists(call.id) else None

    @override
    def delete(self, world: World, call: Call) -> None:
        from rehearsal.cloud.model import CloudError

        force = bool(call.get("forceDestroy"))
        try:
            world.running().delete_bucket(call.id, force=force)
        except CloudError as error:
            if error.code == "NOT_FOUND":
                return
            if force:
                raise
            raise RefusedError(
                f"Error trying to delete bucket {call.id} without `force_destroy` set to true"
            ) from error


class BucketIAMMember(Member):
    """A grant on one bucket."""

    token = "gcp:storage/bucketIAMMember:BucketIAMMember"

    @override
    def target(self, call: Call) -> str:
        return f"b/{call['bucket'].removeprefix('b/')}"

    @override
    def admit(self, world: World, call: Call) -> None:
        super().admit(world, call)
        bucket = call["bucket"].removeprefix("b/")
        known = any(world.state.read(p, Bucket.token, bucket) is not None for p in NUMBERS)
        if not known and not world.running().bucket_exists(bucket):
            raise RefusedError(
                f'Error retrieving IAM policy for storage bucket "b/{bucket}": googleapi: '
                f"Error 404: The specified bucket does not exist., notFound"
            )
