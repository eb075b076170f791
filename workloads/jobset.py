"""The JobSet manifest of a stage, as a plain dictionary: what a reviewer reads in a preview.

The fields are those of the JobSet API v1alpha2; immutable ones are all set here, so that nothing
depends on the defaults of a controller's version.
"""

from __future__ import annotations

from typing import Any

from infra.config import ClusterConfig, Home
from infra.labels import kubernetes_labels
from infra.names import (
    CONVERSION_POOL,
    CONVERSION_TAINT,
    ENVIRONMENT_SECRET,
    SERVICE_ACCOUNT,
    TOKEN_KEY,
    TOKEN_SECRET,
    tpu_pool,
)
from workloads.config import RunConfig
from workloads.sizes import conversion_memory_gib, conversion_storage_gib
from workloads.stage import Placement, Stage

CONTAINER = "maxtext"
SCRATCH = "/scratch"
# Text weights need little here during training: the tokenizer and a page of the dataset stream.
TRAINING_STORAGE_GIB = 16
CONFIG_ERROR_EXIT_CODE = 2
TPU_TAINT = "google.com/tpu"
RESTART_LABEL = "jobset.sigs.k8s.io/restart-attempt"


def jobset_manifest(stage: Stage, *, run: RunConfig, home: Home) -> dict[str, Any]:
    """Return the JobSet of a stage."""
    place = home.place
    on_slice = stage.placement is Placement.SLICE
    labels = stage_labels(stage, run)
    queue = {} if run.queue is None else {"kueue.x-k8s.io/queue-name": run.queue}
    metadata: dict[str, Any] = {
        "name": stage.jobset_name,
        "namespace": home.namespace,
        "labels": {**labels, **queue},
    }
    if on_slice and place.num_slices > 1:
        # Without it the pods of two slices could mix. A single slice has its pool for itself.
        metadata["annotations"] = {
            "alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"
        }
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata,
        "spec": {
            "failurePolicy": {
                "maxRestarts": run.max_restarts,
                "rules": [
                    {
                        "name": "noRestart",
                        "action": "FailJobSet",
                        "onJobFailureReasons": ["PodFailurePolicy", "DeadlineExceeded"],
                    }
                ],
            },
            "replicatedJobs": [
                {
                    "name": "slice",
                    "replicas": place.num_slices if on_slice else 1,
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": _job(stage, run, place, labels),
                    },
                }
            ],
        },
    }


def stage_labels(stage: Stage, run: RunConfig) -> dict[str, str]:
    """Return the labels of a stage's JobSet, jobs and pods."""
    return {
        **kubernetes_labels("maxtext"),
        "maxtext-sft/run": run.name,
        "maxtext-sft/stage": stage.name,
    }


def escaped(text: str) -> str:
    """Return text that Kubernetes passes on unchanged: it expands `$(NAME)` and halves `$$`."""
    return text.replace("$", "$$")


def arguments(stage: Stage) -> list[str]:
    """Return the command line of a stage behind the module, one `key=value` an item."""
    assignments = [f"{key}={value}" for key, value in stage.arguments.items()]
    return [escaped(item) for item in (*assignments, *stage.flags)]


def _job(
    stage: Stage, run: RunConfig, place: ClusterConfig, labels: dict[str, str]
) -> dict[str, Any]:
    hosts = place.tpu.hosts if stage.placement is Placement.SLICE else 1
    return {
        "parallelism": hosts,
        "completions": hosts,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "activeDeadlineSeconds": stage.timeout_minutes * 60,
        "podFailurePolicy": {
            "rules": [
                {
                    "action": "FailJob",
                    "onExitCodes": {
                        "containerName": CONTAINER,
                        "operator": "In",
                        "values": [CONFIG_ERROR_EXIT_CODE],
                    },
                }
            ]
        },
        "template": {"metadata": {"labels": labels}, "spec": _pod(stage, run, place)},
    }


def _pod(stage: Stage, run: RunConfig, place: ClusterConfig) -> dict[str, Any]:
    network: dict[str, Any] = {}
    if place.host_network:
        network = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    return {
        **network,
        "serviceAccountName": SERVICE_ACCOUNT,
        "automountServiceAccountToken": False,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 30,
        "nodeSelector": _selector(stage, place),
        "tolerations": _tolerations(stage, place),
        "containers": [_container(stage, run, place)],
        "volumes": [
            {"name": "scratch", "emptyDir": {"sizeLimit": f"{_storage_gib(stage, run)}Gi"}}
        ],
    }


def _container(stage: Stage, run: RunConfig, place: ClusterConfig) -> dict[str, Any]:
    return {
        "name": CONTAINER,
        "image": run.image,
        **_command(stage),
        "env": _environment(stage),
        "resources": _resources(stage, run, place),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": "scratch", "mountPath": SCRATCH}],
    }


def _command(stage: Stage) -> dict[str, Any]:
    # The template of a JobSet cannot change between attempts, so the container looks at its own.
    # All else arrives as arguments: no text of the user's is ever read by the shell.
    module = ["python3", "-m", stage.module, *arguments(stage)]
    script = []
    for key, value in stage.first_attempt_arguments.items():
        script.append(f'if [ "$RESTART_ATTEMPT" = 0 ]; then set -- "$@" {key}={value}; fi')
    if stage.shuffles_data:
        script.append('set -- "$@" "data_shuffle_seed=$RESTART_ATTEMPT"')
    if not script:
        return {"command": module[:3], "args": module[3:]}
    script.append('exec "$@"')
    return {"command": ["/bin/sh", "-ec", "; ".join(script), CONTAINER], "args": module}


def _environment(stage: Stage) -> list[dict[str, Any]]:
    plain = {"HF_HOME": f"{SCRATCH}/huggingface", **stage.environment}
    return [
        *({"name": name, "value": escaped(value)} for name, value in plain.items()),
        *(_secret(name, ENVIRONMENT_SECRET, name) for name in stage.secret_environment),
        _secret("HF_TOKEN", TOKEN_SECRET, TOKEN_KEY, optional=True),
        {
            "name": "RESTART_ATTEMPT",
            "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{RESTART_LABEL}']"}},
        },
    ]


def _secret(name: str, secret: str, key: str, *, optional: bool = False) -> dict[str, Any]:
    reference = {"name": secret, "key": key, "optional": optional}
    return {"name": name, "valueFrom": {"secretKeyRef": reference}}


def _resources(stage: Stage, run: RunConfig, place: ClusterConfig) -> dict[str, Any]:
    storage = f"{_storage_gib(stage, run)}Gi"
    if stage.placement is Placement.SLICE:
        # A pod must ask for every chip of its host.
        return {
            "limits": {TPU_TAINT: place.tpu.chips_per_host},
            "requests": {"ephemeral-storage": storage},
        }
    memory = f"{conversion_memory_gib(run.model_name)}Gi"
    return {"requests": {"memory": memory, "ephemeral-storage": storage}}


def _storage_gib(stage: Stage, run: RunConfig) -> int:
    if stage.placement is Placement.SLICE:
        return TRAINING_STORAGE_GIB
    return conversion_storage_gib(run.model_name)


def _selector(stage: Stage, place: ClusterConfig) -> dict[str, str]:
    if stage.placement is Placement.HOST and not place.reserved:
        return {"cloud.google.com/gke-nodepool": CONVERSION_POOL}
    if place.reserved:
        return place.tpu.node_labels
    # A pool at zero nodes is found by its name; the autoscaler then brings the whole slice.
    return {**place.tpu.node_labels, "cloud.google.com/gke-nodepool": tpu_pool(0)}


def _tolerations(stage: Stage, place: ClusterConfig) -> list[dict[str, str]]:
    on_conversion_pool = stage.placement is Placement.HOST and not place.reserved
    key = CONVERSION_TAINT if on_conversion_pool else TPU_TAINT
    return [{"key": key, "operator": "Exists", "effect": "NoSchedule"}]
