from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from rehearsal.kubernetes import kubeconfig
from rehearsal.plugin import RefusedError


def document(**user: Any) -> dict[str, Any]:
    return {
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


def plugin(tmp_path: Path, script: str) -> dict[str, Any]:
    program = tmp_path / "auth-plugin"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": str(program),
        "provideClusterInfo": True,
        "env": [{"name": "FLAVOUR", "value": "sweet"}],
    }


@pytest.mark.parametrize("written", [json.dumps, yaml.safe_dump])
def test_a_kubeconfig_is_text_in_either_form_or_a_path(tmp_path: Path, written: Any) -> None:
    text = written(document(token="t"))
    file = tmp_path / "config"
    file.write_text(text)
    for given in (text, str(file)):
        access = kubeconfig.access(given)
        assert (access.host, access.port, access.token) == ("127.0.0.1", 6443, "t")


def test_an_exec_credential_is_obtained_with_the_clusters_address(tmp_path: Path) -> None:
    script = """printf '{"status": {"token": "%s %s"}}' "$FLAVOUR" """
    script += """"$(echo "$KUBERNETES_EXEC_INFO" | grep -c 127.0.0.1:6443)" """
    access = kubeconfig.access(json.dumps(document(exec=plugin(tmp_path, script))))
    assert access.token == "sweet 1"


def test_a_failing_credential_plugin_says_why(tmp_path: Path) -> None:
    failing = document(exec=plugin(tmp_path, "echo log in first >&2; exit 3"))
    with pytest.raises(RefusedError, match="auth-plugin failed: log in first"):
        kubeconfig.access(json.dumps(failing))


def test_a_missing_credential_plugin_is_named_with_its_hint() -> None:
    command = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "no-such-plugin",
        "installHint": "gcloud components install it",
    }
    with pytest.raises(RefusedError, match="needs no-such-plugin: gcloud components install it"):
        kubeconfig.access(json.dumps(document(exec=command)))


@pytest.mark.parametrize("text", ["{}", '{"clusters": []}'])
def test_what_is_no_kubeconfig_is_refused(text: str) -> None:
    with pytest.raises(RefusedError, match="kubeconfig"):
        kubeconfig.access(text)


def test_the_active_cluster_is_that_of_the_current_context() -> None:
    assert kubeconfig.active_cluster(json.dumps(document())) == {"server": "https://127.0.0.1:6443"}
