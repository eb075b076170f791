"""JobSets and pods as the end-to-end tests make and watch them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from kubernetes import client, watch

Object = dict[str, Any]
GROUP = ("jobset.x-k8s.io", "v1alpha2")
NAME_LABEL = "jobset.sigs.k8s.io/jobset-name"
TIMEOUT_SECONDS = 20


def jobset(
    name: str,
    script: str,
    *,
    hosts: int = 8,
    max_restarts: int = 0,
    container: Object | None = None,
    pod: Object | None = None,
) -> Object:
    """A JobSet of one slice whose hosts run a shell script, shaped as the program's stages are."""
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 5,
        "nodeSelector": {
            "cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
            "cloud.google.com/gke-tpu-topology": "4x8",
        },
        "tolerations": [{"key": "google.com/tpu", "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [
            {
                "name": "trainer",
                "image": "example.invalid/trainer:1",
                "command": ["sh", "-c", script],
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "resources": {"limits": {"google.com/tpu": 4}},
                **(container or {}),
            }
        ],
        **(pod or {}),
    }
    job = {
        "parallelism": hosts,
        "completions": hosts,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": {"spec": spec},
    }
    replicated = {"name": "slice", "replicas": 1, "template": {"spec": job}}
    return {
        "apiVersion": "/".join(GROUP),
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {"failurePolicy": {"maxRestarts": max_restarts}, "replicatedJobs": [replicated]},
    }


class Kube:
    """One namespace of a cluster."""

    def __init__(self, api: client.ApiClient, namespace: str) -> None:
        self.namespace = namespace
        self.core = client.CoreV1Api(api)
        self.custom = client.CustomObjectsApi(api)
        self._api = api

    def create(self, manifest: Object) -> Object:
        """Create a JobSet."""
        created: Object = self.custom.create_namespaced_custom_object(
            *GROUP, self.namespace, "jobsets", manifest
        )
        return created

    def delete(self, name: str) -> None:
        """Delete a JobSet in the foreground; returns when the object has gone."""
        place = (*GROUP, self.namespace, "jobsets")
        found: Object = self.custom.get_namespaced_custom_object(*place, name)
        self.custom.delete_namespaced_custom_object(*place, name, propagation_policy="Foreground")
        # From before the deletion: one that is over at once must not be missed.
        self._until(
            self.custom.list_namespaced_custom_object,
            place,
            lambda kind, item: kind == "DELETED",
            f"metadata.name={name}",
            since=found["metadata"]["resourceVersion"],
        )

    def wait_end(self, name: str) -> Object:
        """Return the true condition `Completed` or `Failed` of a JobSet, once there is one."""
        found: list[Object] = []

        def ended(_: str, item: Object) -> bool:
            for condition in item.get("status", {}).get("conditions", []):
                if condition["type"] in ("Completed", "Failed") and condition["status"] == "True":
                    found.append(condition)
            return bool(found)

        arguments = (*GROUP, self.namespace, "jobsets")
        listing = self.custom.list_namespaced_custom_object
        self._until(listing, arguments, ended, f"metadata.name={name}")
        return found[0]

    def wait_pods(self, condition: Callable[[dict[str, Object]], bool]) -> dict[str, Object]:
        """Return the namespace's pods by name, once a condition on them holds."""
        pods: dict[str, Object] = {}

        def holds(kind: str, item: Any) -> bool:
            plain = self._api.sanitize_for_serialization(item)
            pods[plain["metadata"]["name"]] = plain
            if kind == "DELETED":
                del pods[plain["metadata"]["name"]]
            return condition(pods)

        self._until(self.core.list_namespaced_pod, (self.namespace,), holds, "")
        return pods

    def pods(self) -> dict[int, Object]:
        """Return the namespace's pods by completion index."""
        listed = self.core.list_namespaced_pod(self.namespace).items
        plain = [self._api.sanitize_for_serialization(pod) for pod in listed]
        key = "batch.kubernetes.io/job-completion-index"
        return {int(pod["metadata"]["annotations"][key]): pod for pod in plain}

    def log(self, pod: Object, **options: Any) -> str:
        """Return a pod's log through the API server."""
        text: str = self.core.read_namespaced_pod_log(
            pod["metadata"]["name"], self.namespace, **options
        )
        return text

    def _until(
        self,
        listing: Callable[..., Any],
        arguments: tuple[str, ...],
        condition: Callable[[str, Any], bool],
        field_selector: str,
        since: str | None = None,
    ) -> None:
        end = time.monotonic() + TIMEOUT_SECONDS
        while (remaining := int(end - time.monotonic())) > 0:
            stream = watch.Watch().stream(
                listing,
                *arguments,
                field_selector=field_selector,
                timeout_seconds=remaining,
                **({} if since is None else {"resource_version": since}),
            )
            for event in stream:
                if condition(event["type"], event["object"]):
                    return
        raise AssertionError(f"not within {TIMEOUT_SECONDS} s in {self.namespace}")


def phases(pods: dict[str, Object]) -> list[str]:
    """Return the phase of each pod."""
    return [pod["status"]["phase"] for pod in pods.values()]
