"""Service accounts and additive grants, refused when whom they name does not exist."""

from __future__ import annotations

import re
import zlib
from typing import ClassVar, Final

from typing_extensions import override

from rehearsal.google.kind import Call, Kind
from rehearsal.google.projects import NUMBERS
from rehearsal.google.world import World
from rehearsal.plugin import RefusedError
from rehearsal.values import UNKNOWN, Values

# iam.v1 discovery, CreateServiceAccountRequest.accountId: 6-30 characters, this expression.
_ACCOUNT_ID: Final = re.compile(r"(?=.{6,30}$)[a-z]([-a-z0-9]*[a-z0-9])")
_MEMBER: Final = re.compile(
    r".+:.+|projectOwners|projectReaders|projectWriters|allUsers|allAuthenticatedUsers"
)  # validateIAMMember, tpgiamresource/resource_iam_member.go of terraform-provider-google-beta
_POOL: Final = re.compile(
    r"principal(?:Set)?://iam\.googleapis\.com/projects/(?P<number>\d+)/locations/global/"
    r"workloadIdentityPools/(?P<project>[^/]+)\.svc\.id\.goog/.+"
)
POOL_FILE: Final = "workload-identity-pool.json"
"""Written into a project's folder with its first cluster that uses Workload Identity."""


class Account(Kind):
    """A service account."""

    token = "gcp:serviceaccount/account:Account"
    service = "iam.googleapis.com"
    autoname = "accountId"
    conflict = (
        "Error creating service account: googleapi: Error 409: Service account {} already exists., "
        "alreadyExists"
    )
    computed: ClassVar[Values] = {
        "email": UNKNOWN,
        "member": UNKNOWN,
        "name": UNKNOWN,
        "uniqueId": UNKNOWN,
    }

    @override
    def problems(self, inputs: Values) -> list[tuple[str, str]]:
        account_id = inputs.get("accountId")
        if isinstance(account_id, str) and not _ACCOUNT_ID.fullmatch(account_id):
            reason = (
                f"{account_id!r} is not an account id: 6 to 30 lower-case letters, digits and "
                f"hyphens, beginning with a letter and not ending with a hyphen"
            )
            return [("accountId", reason)]
        return []

    @override
    def identity(self, call: Call) -> str:
        return f"projects/{call.project}/serviceAccounts/{self._email(call)}"

    @override
    def create(self, world: World, call: Call) -> Values:
        email = self._email(call)
        return {
            "email": email,
            "member": f"serviceAccount:{email}",
            "name": self.identity(call),
            "uniqueId": str(zlib.crc32(email.encode()) + 10**20),
        }

    def _email(self, call: Call) -> str:
        return f"{call['accountId']}@{call.project}.iam.gserviceaccount.com"


class Member(Kind):
    """One member of one role on something: added to what others granted, never instead of it."""

    autoname = None
    conflict = None
    computed: ClassVar[Values] = {"etag": UNKNOWN}

    def target(self, call: Call) -> str:
        """What the role is granted on, as the id of the grant begins."""
        raise NotImplementedError(self.token)

    @override
    def problems(self, inputs: Values) -> list[tuple[str, str]]:
        member = inputs.get("member")
        if not isinstance(member, str) or _MEMBER.search(member):
            return []
        return [
            ("member", f"invalid value {member!r} for member (IAM members have a type and ':')")
        ]

    @override
    def identity(self, call: Call) -> str:
        return f"{self.target(call)}/{call['role']}/{call['member']}"

    @override
    def admit(self, world: World, call: Call) -> None:
        member = call["member"]
        if member.startswith("serviceAccount:"):
            account = member.partition(":")[2]
            if ".svc.id.goog[" in account:
                _require_pool(world, account.partition(".svc.id.goog[")[0])
            else:
                world.require_service_account(call.project, account)
        elif pool := _POOL.fullmatch(member):
            if NUMBERS.get(pool["project"]) != pool["number"]:
                raise RefusedError(
                    f"googleapi: Error 400: Invalid principal {member}: project number "
                    f"{pool['number']} is not the number of {pool['project']}., badRequest"
                )
            _require_pool(world, pool["project"])

    @override
    def create(self, world: World, call: Call) -> Values:
        return {"etag": f"BwY{zlib.crc32(self.identity(call).encode()):08x}="}


def _require_pool(world: World, project: str) -> None:
    """A project's pool comes into being with its first cluster, and stays."""
    if not world.state.document(project, POOL_FILE, default=None):
        raise RefusedError(
            f"googleapi: Error 400: Identity Pool does not exist ({project}.svc.id.goog). Please "
            f"check that you specified a valid resource name as returned in the `name` attribute "
            f"in the configuration API., badRequest"
        )


class ProjectIAMMember(Member):
    """A grant on the project."""

    token = "gcp:projects/iAMMember:IAMMember"
    service = "cloudresourcemanager.googleapis.com"

    @override
    def target(self, call: Call) -> str:
        return call.project


class AccountIAMMember(Member):
    """A grant on a service account."""

    token = "gcp:serviceaccount/iAMMember:IAMMember"
    service = "iam.googleapis.com"

    @override
    def target(self, call: Call) -> str:
        return str(call["serviceAccountId"])

    @override
    def admit(self, world: World, call: Call) -> None:
        world.require_service_account(call.project, self.target(call).rsplit("/", 1)[-1])
        super().admit(world, call)


class Service(Kind):
    """An enabled API: enabling it again is no conflict, and by default it stays enabled."""

    token = "gcp:projects/service:Service"
    autoname = None
    conflict = None

    @override
    def identity(self, call: Call) -> str:
        return f"{call.project}/{call['service']}"

    @override
    def create(self, world: World, call: Call) -> Values:
        if call["service"] == "storage.googleapis.com":
            world.running()  # from now on somebody may ask for buckets
        return {}

    @override
    def keeps_state(self, call: Call) -> bool:
        return not call.get("disableOnDestroy", False)
