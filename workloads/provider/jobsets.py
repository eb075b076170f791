"""Submit, find and remove JobSets (jobset.x-k8s.io/v1alpha2), each bound to its uid."""

from collections.abc import Mapping
from typing import Any

from workloads.provider.connection import ClusterError, Connection

# What the provider adds to a manifest when it submits it. The digest tells whether a JobSet that
# runs is the one that is wanted; the record tells that it is ours.
DIGEST_ANNOTATION = "maxtext-sft/stage-digest"
RECORD_ANNOTATION = "maxtext-sft/stage-record"
UID_LABEL = "jobset.sigs.k8s.io/jobset-uid"


class JobSets:
    """The JobSets of one namespace."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        """Refer to the namespace; nothing is contacted."""
        self.connection = connection
        self.namespace = namespace
        self.path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{namespace}/jobsets"
        self.pods_path = f"/api/v1/namespaces/{namespace}/pods"

    def read(self, name: str) -> dict[str, Any] | None:
        """Return the JobSet of that name, or None. Raises ClusterError."""
        try:
            return self.connection.request("GET", f"{self.path}/{name}")
        except ClusterError as error:
            if error.status == 404:
                return None
            raise

    def create(self, manifest: Mapping[str, Any], digest: str, record_url: str) -> dict[str, Any]:
        """Submit a manifest with our annotations; return the object. Raises ClusterError."""
        metadata = dict(manifest.get("metadata", {}))
        own = {DIGEST_ANNOTATION: digest, RECORD_ANNOTATION: record_url}
        metadata["annotations"] = {**metadata.get("annotations", {}), **own}
        return self.connection.request("POST", self.path, body={**manifest, "metadata": metadata})

    def delete(self, name: str, uid: str) -> None:
        """Remove exactly this JobSet, its pods first; gone is as good. Raises ClusterError."""
        body = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            # Foreground: the object stays until its pods are gone, so its absence means free chips.
            "propagationPolicy": "Foreground",
            "preconditions": {"uid": uid},
        }
        try:
            self.connection.request("DELETE", f"{self.path}/{name}", body=body)
        except ClusterError as error:
            # 409: the name belongs to another object by now, so this one is gone.
            if error.status not in (404, 409):
                raise

    def pods(self, uid: str) -> list[dict[str, Any]]:
        """Return the pods of a JobSet. Raises ClusterError."""
        query = {"labelSelector": f"{UID_LABEL}={uid}"}
        items: list[dict[str, Any]] = self.connection.request("GET", self.pods_path, query=query)[
            "items"
        ]
        return items


def uid(jobset: Mapping[str, Any]) -> str:
    """Return the object's uid."""
    return str(jobset["metadata"]["uid"])


def digest_of(jobset: Mapping[str, Any]) -> str | None:
    """Return the digest a JobSet was submitted with, or None when it is not ours."""
    annotations = jobset["metadata"].get("annotations") or {}
    found = annotations.get(DIGEST_ANNOTATION)
    return None if found is None else str(found)


def terminating(jobset: Mapping[str, Any]) -> bool:
    """Whether the JobSet is being removed."""
    return "deletionTimestamp" in jobset["metadata"]


def terminal(jobset: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the condition that ends a JobSet: Completed or Failed, and only with status True."""
    for condition in jobset.get("status", {}).get("conditions", []):
        if condition.get("type") in ("Completed", "Failed") and condition.get("status") == "True":
            found: Mapping[str, Any] = condition
            return found
    return None


def suspended(jobset: Mapping[str, Any]) -> bool:
    """Whether the JobSet waits for its admission, by a queue or by hand."""
    return bool(jobset.get("spec", {}).get("suspend"))


def pod_count(manifest: Mapping[str, Any]) -> int:
    """Return how many pods a manifest asks for at a time."""
    return sum(
        int(job.get("replicas", 1)) * int(job["template"]["spec"].get("parallelism", 1))
        for job in manifest["spec"]["replicatedJobs"]
    )


def image(manifest: Mapping[str, Any]) -> str:
    """Return the image of the first container, or nothing."""
    for job in manifest["spec"]["replicatedJobs"]:
        containers = job["template"]["spec"]["template"]["spec"].get("containers", [])
        if containers:
            return str(containers[0].get("image", ""))
    return ""
