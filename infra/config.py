"""The `cluster` block of a stack file: where the run happens."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from infra.fields import Allowed, Count, CountOrZero, Flag, Text, matching
from infra.tpu import TpuSlice, chips_of, slice_names, tpu_slice

# 20 + the ten characters of `-tpu-nodes` = 30, the longest id of a service account; the guide has
# the same limit for the same reason.
NAME_MAX_LENGTH = 20


class Capacity(StrEnum):
    """How the TPU hosts are obtained; exactly one applies, since GKE refuses combinations."""

    RESERVATION = "reservation"
    ON_DEMAND = "on-demand"
    SPOT = "spot"
    FLEX_START = "flex-start"


class Endpoint(StrEnum):
    """How the control plane is reached."""

    DNS = "dns"
    IP = "ip"


class JobSetController(StrEnum):
    """Whether this program installs the JobSet controller or finds it in the cluster."""

    INSTALL = "install"
    EXISTING = "existing"


def _slice(value: object) -> TpuSlice:
    if isinstance(value, TpuSlice):
        return value
    if not isinstance(value, str):
        raise ValueError("must be the name of a slice such as v6e-32")
    return tpu_slice(value)


def _cidr(value: str) -> str:
    try:
        return str(ipaddress.ip_network(value))
    except ValueError:
        raise ValueError(f"{value!r} is not an address range such as 203.0.113.7/32") from None


ProjectId = Annotated[
    Text,
    matching(
        r"[a-z][a-z0-9-]{4,28}[a-z0-9]",
        "must be a project id: 6 to 30 of a-z, 0-9 and '-', first a letter",
    ),
]
Region = Annotated[Text, matching(r"[a-z]+-[a-z]+\d+", "must be a region such as us-east5")]
Zone = Annotated[Text, matching(r"[a-z]+-[a-z]+\d+-[a-z]", "must be a zone such as us-east5-b")]
ClusterName = Annotated[
    Text,
    matching(
        rf"[a-z]([a-z0-9-]{{0,{NAME_MAX_LENGTH - 2}}}[a-z0-9])?",
        f"must be 1 to {NAME_MAX_LENGTH} of a-z, 0-9 and '-', first a letter, last no '-'",
    ),
]
BucketName = Annotated[
    Text,
    matching(
        r"[a-z0-9][a-z0-9_.-]{1,61}[a-z0-9]",
        "must be 3 to 63 of a-z, 0-9, '-', '_' and '.', without gs://",
    ),
]
Reservation = Annotated[
    Text,
    matching(
        r"(projects/[a-z][a-z0-9-]+/reservations/)?[a-z][a-z0-9-]{0,62}(/reservationBlocks/.+)?",
        "must be NAME or projects/PROJECT/reservations/NAME, optionally with /reservationBlocks/B",
    ),
]
Cidr = Annotated[Text, AfterValidator(_cidr), Allowed("address range such as 203.0.113.7/32")]
Slice = Annotated[TpuSlice, BeforeValidator(_slice), Allowed(", ".join(slice_names()))]
Version = Annotated[Text, matching(r"\d+\.\d+\.\d+", "must be a released version such as 0.12.0")]


class ClusterConfig(BaseModel):
    """Everything about the place: frozen, complete, refused when a key is unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    project: ProjectId = Field(
        description="The id of the Google Cloud project in which everything is created"
    )
    region: Region = Field(
        description="The region of the TPU capacity; cluster and bucket lie in it"
    )
    zone: Zone = Field(
        description="The zone of the TPU capacity, inside the region; all machines lie in it"
    )
    name: ClusterName = Field(
        description="The cluster's name; network, subnets and service accounts are named after it"
    )
    bucket: BucketName = Field(
        description="The name of the results bucket, unique in all of Google Cloud"
    )
    tpu: Slice = Field(
        description="The slice to train on, by chips (v6e-32) or by topology (v6e-4x8)"
    )
    tpu_topology: Text | None = Field(
        default=None,
        description="The topology you expect `tpu` to have, such as 4x8; any other is refused",
    )
    num_slices: Count = Field(
        default=1,
        description=(
            "Number of slices, data parallel to each other; more than 1 need a reservation"
        ),
    )
    capacity: Capacity = Field(
        default=Capacity.RESERVATION,
        description=(
            "How the TPU hosts are obtained; all but a reservation exist only while they are needed"
        ),
    )
    reservation: Reservation | None = Field(
        default=None,
        validate_default=True,
        description=(
            "The TPU reservation: needed with capacity reservation, refused with any other"
        ),
    )
    tpu_disk_size_gb: Count = Field(
        default=300,
        description=(
            "Boot disk of a TPU or conversion host: image, weights from the Hub and export"
        ),
    )
    host_network: Flag = Field(
        default=False,
        description=(
            "Run pods on the host's network, as the guide does; they then act as the node's account"
        ),
    )
    endpoint: Endpoint = Field(
        default=Endpoint.DNS,
        description="How the control plane is reached: dns (guarded by IAM) or ip (by address)",
    )
    authorized_cidrs: tuple[Cidr, ...] = Field(
        default=(),
        validate_default=True,
        description=(
            "Address ranges that may reach the control plane: needed with endpoint "
            "ip, refused with dns"
        ),
    )
    deletion_protection: Flag = Field(
        default=False,
        description=(
            "Refuse to delete the cluster; before a destroy set it to false and run `pulumi up`"
        ),
    )
    existing_bucket: Flag = Field(
        default=False,
        description="The bucket is somebody else's: used as it is, never changed or deleted",
    )
    project_number: CountOrZero | None = Field(
        default=None,
        validate_default=True,
        description="The number of `project`: needed with existing_bucket, unused without",
    )
    adopt_bucket: Flag = Field(
        default=False,
        validate_default=True,
        description=(
            "Take back the bucket, with its results, that an earlier destroy of this stack kept"
        ),
    )
    delete_bucket_on_destroy: Flag = Field(
        default=False,
        validate_default=True,
        description="Let destroy delete the bucket and all results; needs one `pulumi up` before",
    )
    soft_delete_days: Annotated[CountOrZero, Allowed("0, or 7 to 90")] = Field(
        default=0,
        description="Days a deleted object can be restored, and is billed; 0 turns that off",
    )
    jobset_controller: JobSetController = Field(
        default=JobSetController.INSTALL,
        description=(
            "Whether the JobSet controller is installed (Helm chart) or is in the cluster already"
        ),
    )
    jobset_version: Version = Field(
        default="0.12.0", description="The version of the JobSet chart to install"
    )
    labels: dict[Text, Text] = Field(
        default_factory=dict,
        description="Labels for bucket, cluster and machines, besides this program's own",
    )

    @field_validator("zone")
    @classmethod
    def _zone_is_inside_the_region(cls, zone: str, info: ValidationInfo) -> str:
        region = info.data.get("region")
        if region and zone.rpartition("-")[0] != region:
            raise ValueError(f"lies outside the region {region}; allowed are {region}-a, -b, ...")
        return zone

    @field_validator("tpu_topology")
    @classmethod
    def _topology_is_the_slices(cls, topology: str | None, info: ValidationInfo) -> str | None:
        tpu = info.data.get("tpu")
        if tpu is None or topology in (None, tpu.topology):
            return topology
        other = ""
        if re.fullmatch(r"\d+(x\d+)+", topology or ""):
            chips = chips_of(topology or "")
            other = f"; {topology} is {chips} chips on {-(-chips // tpu.chips_per_host)} hosts"
        raise ValueError(
            f"{tpu.name} has topology {tpu.topology} with {tpu.hosts} hosts{other}."
            " Change cluster.tpu or leave tpu_topology out"
        )

    @field_validator("reservation")
    @classmethod
    def _reservation_fits_the_capacity(cls, name: str | None, info: ValidationInfo) -> str | None:
        capacity = info.data.get("capacity")
        if capacity is Capacity.RESERVATION and name is None:
            raise ValueError(
                "capacity reservation needs the reservation's name;"
                " without one set cluster.capacity to on-demand, spot or flex-start"
            )
        if capacity not in (None, Capacity.RESERVATION) and name is not None:
            raise ValueError(f"a reservation excludes cluster.capacity {capacity}: set one of them")
        slices = info.data.get("num_slices", 1)
        if capacity not in (None, Capacity.RESERVATION) and slices > 1:
            raise ValueError(
                f"capacity {capacity} scales its pool from zero, which works for num_slices 1 only"
            )
        return name

    @field_validator("authorized_cidrs")
    @classmethod
    def _cidrs_fit_the_endpoint(
        cls, cidrs: tuple[str, ...], info: ValidationInfo
    ) -> tuple[str, ...]:
        endpoint = info.data.get("endpoint")
        if endpoint is Endpoint.IP and not cidrs:
            raise ValueError("endpoint ip needs at least one range, such as your own address /32")
        if endpoint is Endpoint.DNS and cidrs:
            raise ValueError("endpoint dns is guarded by IAM; ranges need cluster.endpoint ip")
        return cidrs

    @field_validator("project_number")
    @classmethod
    def _number_for_a_foreign_bucket(cls, number: int | None, info: ValidationInfo) -> int | None:
        if info.data.get("existing_bucket") and number is None:
            raise ValueError(
                "existing_bucket needs it (a foreign bucket may lie in another project);"
                " `gcloud projects describe PROJECT --format='value(projectNumber)'` prints it"
            )
        return number

    @field_validator("adopt_bucket", "delete_bucket_on_destroy")
    @classmethod
    def _bucket_has_one_fate(cls, wanted: bool, info: ValidationInfo) -> bool:
        if not wanted:
            return wanted
        if info.data.get("existing_bucket"):
            raise ValueError("existing_bucket leaves the bucket alone: set one of them")
        if info.data.get("adopt_bucket"):
            raise ValueError(
                "adopt_bucket and delete_bucket_on_destroy cannot be set together: run `pulumi up`"
                " with adopt_bucket first, then set delete_bucket_on_destroy instead and run `up`"
            )
        return wanted

    @field_validator("soft_delete_days")
    @classmethod
    def _soft_delete_is_offered(cls, days: int) -> int:
        if days and not 7 <= days <= 90:
            raise ValueError("must be 0 or 7 to 90")
        return days

    @property
    def reserved(self) -> bool:
        """Whether the slice is paid for all the time, so that its pool is fixed."""
        return self.capacity is Capacity.RESERVATION

    @property
    def chips(self) -> int:
        """Chips of all slices together."""
        return self.tpu.chips * self.num_slices


@dataclass(frozen=True, kw_only=True)
class Home:
    """Where one stack's stages run: the place and the stack's own namespace in it."""

    place: ClusterConfig
    namespace: str
