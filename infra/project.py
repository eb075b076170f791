"""The Google Cloud project: the provider bound to it, its services and the checks before a bill."""

from __future__ import annotations

import pulumi
from pulumi_gcp import Provider
from pulumi_gcp.projects import Service

from infra.config import ClusterConfig
from infra.preflight import Preflight

SERVICES = (
    "artifactregistry.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "compute.googleapis.com",
    "container.googleapis.com",
    "iam.googleapis.com",
    "iamcredentials.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "storage.googleapis.com",
)


class Project(pulumi.ComponentResource):
    """The services this program needs, enabled and never disabled: others may live on them."""

    google: Provider

    def __init__(
        self, name: str, *, place: ClusterConfig, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("maxtext:infra:Project", name, None, opts)
        self.google = Provider(
            f"{name}-google",
            project=place.project,
            region=place.region,
            zone=place.zone,
            opts=pulumi.ResourceOptions(parent=self),
        )
        services = [
            Service(
                f"{name}-{service.partition('.')[0]}",
                project=place.project,
                service=service,
                disable_on_destroy=False,
                opts=pulumi.ResourceOptions(parent=self, provider=self.google),
            )
            for service in SERVICES
        ]
        Preflight(
            f"{name}-preflight",
            commands=["gke-gcloud-auth-plugin"],
            place=place,
            opts=pulumi.ResourceOptions(parent=self, depends_on=services),
        )
        self.register_outputs({"project": place.project})
