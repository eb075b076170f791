"""The JobSet controller that runs the stages' JobSets."""

from __future__ import annotations

import pulumi
from pulumi_kubernetes.helm.v3 import Release

from infra.cluster import TrainingCluster
from infra.config import ClusterConfig, JobSetController

CHART = "oci://registry.k8s.io/jobset/charts/jobset"
NAMESPACE = "jobset-system"


class JobSet(pulumi.ComponentResource):
    """The controller and its CRD, at a pinned version, or nothing where the cluster has one.

    The release waits for the controller to be available: a JobSet sent before its webhook serves
    is refused.
    """

    def __init__(
        self,
        name: str,
        *,
        place: ClusterConfig,
        cluster: TrainingCluster,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("maxtext:infra:JobSet", name, None, opts)
        if place.jobset_controller is JobSetController.INSTALL:
            Release(
                f"{name}-controller",
                name="jobset",
                chart=CHART,
                version=place.jobset_version,
                namespace=NAMESPACE,
                create_namespace=True,
                atomic=True,
                timeout=20 * 60,
                opts=pulumi.ResourceOptions(
                    parent=self,
                    deleted_with=cluster.gke,
                    custom_timeouts=pulumi.CustomTimeouts(create="1h", update="1h", delete="30m"),
                ),
            )
        self.register_outputs({"controller": place.jobset_controller.value})
