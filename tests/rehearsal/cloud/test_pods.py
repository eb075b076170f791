"""What a container finds on a node, and what its status and log tell."""

from __future__ import annotations

import json
import time

import pytest

from tests.rehearsal.cloud.processlist import running
from tests.rehearsal.kube import Kube, jobset, phases

pytestmark = pytest.mark.rehearsal

REPORT = "import json, os; print(json.dumps(dict(os.environ)))"


def pod(name, container, **spec):
    main = {"name": "main", "image": "example.invalid/any:1"} | container
    return {
        "metadata": {"name": name, "labels": {"team": "blue"}, "annotations": {"note": "hot"}},
        "spec": {"restartPolicy": "Never", "containers": [main], **spec},
    }


def run(kube: Kube, manifest):
    """Run a pod to its end and return it."""
    kube.core.create_namespaced_pod(kube.namespace, manifest)
    pods = kube.wait_pods(lambda pods: set(phases(pods)) <= {"Succeeded", "Failed"})
    return pods[manifest["metadata"]["name"]]


def shell(script, **container):
    return {"command": ["sh", "-c", script], **container}


def waiting_reason(pods):
    statuses = next(iter(pods.values()))["status"].get("containerStatuses") or [{}]
    return statuses[0].get("state", {}).get("waiting", {}).get("reason")


def test_variables_come_from_every_source_a_manifest_names(kube: Kube):
    kube.core.create_namespaced_secret(
        kube.namespace, {"metadata": {"name": "token"}, "stringData": {"hf": "hf_canary"}}
    )
    kube.core.create_namespaced_config_map(
        kube.namespace, {"metadata": {"name": "settings"}, "data": {"steps": "7"}}
    )
    sources = {
        "TOKEN": {"secretKeyRef": {"name": "token", "key": "hf"}},
        "STEPS": {"configMapKeyRef": {"name": "settings", "key": "steps"}},
        "ABSENT": {"secretKeyRef": {"name": "none", "key": "hf", "optional": True}},
        "TEAM": {"fieldRef": {"fieldPath": "metadata.labels['team']"}},
        "NOTE": {"fieldRef": {"fieldPath": "metadata.annotations['note']"}},
        "NODE": {"fieldRef": {"fieldPath": "spec.nodeName"}},
        "CPUS": {"resourceFieldRef": {"resource": "limits.cpu"}},
    }
    environment = [{"name": name, "valueFrom": source} for name, source in sources.items()]
    environment.append({"name": "BOTH", "value": "$(TEAM)-$(STEPS)-$$(TEAM)-$(UNKNOWN)"})
    command = ["python3", "-c", REPORT + "; import sys; print(sys.argv[1])", "$(STEPS)/$$(STEPS)"]
    resources = {"limits": {"cpu": "2"}}
    container = {"command": command, "env": environment, "resources": resources}
    ended = run(kube, pod("variables", container))
    report, argument = kube.log(ended).splitlines()
    found = json.loads(report)
    assert argument == "7/$(STEPS)"
    assert {name: found.get(name) for name in [*sources, "BOTH"]} == {
        "TOKEN": "hf_canary",
        "STEPS": "7",
        "ABSENT": None,
        "TEAM": "blue",
        "NOTE": "hot",
        "NODE": ended["spec"]["nodeName"],
        "CPUS": "2",
        "BOTH": "blue-7-$(TEAM)-$(UNKNOWN)",
    }


def test_a_container_sees_nothing_of_the_variables_of_whoever_started_the_cloud(
    kube: Kube,
):
    found = json.loads(kube.log(run(kube, pod("bare", {"command": ["python3", "-c", REPORT]}))))
    assert not [name for name in found if name.startswith(("PYTEST_", "PULUMI_", "KUBECONFIG"))]


def test_a_tpu_pod_knows_its_slice(kube: Kube):
    kube.create(jobset("slice", "env | grep ^TPU_ | sort"))
    assert kube.wait_end("slice")["type"] == "Completed"
    found = dict(line.split("=", 1) for line in kube.log(kube.pods()[6]).splitlines())
    assert found["TPU_WORKER_ID"] == "6"
    assert found["TPU_TOPOLOGY"] == "4x8"
    names = found["TPU_WORKER_HOSTNAMES"].split(",")
    assert names[6] == "slice-slice-0-6.slice"
    assert len(names) == 8


def test_a_missing_secret_key_is_named_and_the_pod_starts_when_it_appears(kube: Kube):
    source = {"secretKeyRef": {"name": "late", "key": "hf"}}
    container = shell("echo $TOKEN", env=[{"name": "TOKEN", "valueFrom": source}])
    kube.core.create_namespaced_pod(kube.namespace, pod("waits", container))
    pods = kube.wait_pods(lambda pods: waiting_reason(pods) == "CreateContainerConfigError")
    status = pods["waits"]["status"]
    assert status["phase"] == "Pending"
    message = status["containerStatuses"][0]["state"]["waiting"]["message"]
    assert message == 'secret "late" not found'
    secret = {"metadata": {"name": "late"}, "stringData": {"hf": "now"}}
    kube.core.create_namespaced_secret(kube.namespace, secret)
    pods = kube.wait_pods(lambda pods: phases(pods) == ["Succeeded"])
    assert kube.log(pods["waits"]) == "now\n"


def test_containers_of_a_pod_share_a_volume_by_its_mount_path(kube: Kube):
    mount = [{"name": "scratch", "mountPath": "/scratch/export"}]
    first = shell("echo kept > /scratch/export/file", name="first", image="i", volumeMounts=mount)
    second = shell(
        'cat "$WHERE/file"; pwd',
        volumeMounts=mount,
        workingDir="/scratch/export",
        env=[{"name": "WHERE", "value": "/scratch/export"}],
    )
    volume = {"name": "scratch", "emptyDir": {"medium": "Memory"}}
    ended = run(kube, pod("volume", second, initContainers=[first], volumes=[volume]))
    assert ended["status"]["phase"] == "Succeeded"
    assert kube.log(ended, container="main").startswith("kept\n")


def test_the_termination_message_is_what_the_container_wrote(kube: Kube):
    ended = run(kube, pod("words", shell("echo by hand > /dev/termination-log; exit 4")))
    state = ended["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["message"]) == (4, "by hand\n")
    assert ended["status"]["phase"] == "Failed"


def test_a_command_that_is_not_there_fails_the_pod(kube: Kube):
    ended = run(kube, pod("absent", {"command": ["no-such-program"]}))
    state = ended["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"]) == (128, "StartError")


def test_a_process_killed_by_nobody_counts_as_out_of_memory(kube: Kube):
    # `$$$$` is how a manifest writes the shell's `$$`.
    ended = run(kube, pod("oom", shell("kill -9 $$$$")))
    state = ended["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"]) == (137, "OOMKilled")


def test_what_leaves_the_process_group_ends_with_its_container(kube: Kube):
    script = "setsid sleep 62.5 >/dev/null 2>&1 & sleep 0.3"
    assert run(kube, pod("escape", shell(script)))["status"]["phase"] == "Succeeded"
    assert running("sleep\x0062.5\0") == []


def test_a_pod_that_ignores_sigterm_is_killed_after_its_grace(kube: Kube):
    container = shell("trap '' TERM; echo ready; sleep 63.5 & wait; wait")
    spec = {"terminationGracePeriodSeconds": 1}
    kube.core.create_namespaced_pod(kube.namespace, pod("stubborn", container, **spec))
    kube.wait_pods(lambda pods: phases(pods) == ["Running"])
    began = time.monotonic()
    kube.core.delete_namespaced_pod("stubborn", kube.namespace)
    kube.wait_pods(lambda pods: not pods)
    print(f"1 s of grace: pod gone after {time.monotonic() - began:.2f} s")
    assert running("sleep\x0063.5\0") == []


def test_a_log_is_followed_to_its_end_through_the_api_server(kube: Kube):
    script = "for i in 1 2 3; do echo line $i; sleep 0.3; done"
    kube.core.create_namespaced_pod(kube.namespace, pod("speaks", shell(script)))
    kube.wait_pods(lambda pods: phases(pods) == ["Running"])
    stream = kube.core.read_namespaced_pod_log(
        "speaks", kube.namespace, follow=True, _preload_content=False
    )
    times = [time.monotonic() for _ in stream.stream()]
    assert times[-1] - times[0] > 0.3, "the lines came together, not as they were written"
    ended = kube.wait_pods(lambda pods: phases(pods) == ["Succeeded"])["speaks"]
    assert kube.log(ended) == "line 1\nline 2\nline 3\n"
    assert kube.log(ended, tail_lines=1) == "line 3\n"
    assert kube.log(ended, timestamps=True).splitlines()[0].endswith("Z line 1")
    assert kube.log(ended, since_seconds=3600, limit_bytes=4) == "line"
