"""Variables expand and win over each other as on a kubelet."""

from __future__ import annotations

import pytest

from rehearsal.cloud.podenvironment import build, expand
from rehearsal.cloud.volumes import Paths

POD = {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)/x", "1/x"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A", "$(A"),
    ],
)
def test_references_expand_as_kubernetes_documents(text: str, expected: str):
    assert expand(text, {"A": "1"}) == expected


def test_the_machine_yields_to_the_manifest_and_the_manifest_to_what_is_injected():
    container = {
        "env": [
            {"name": "A", "value": "manifest"},
            {"name": "B", "value": "manifest"},
            {"name": "GONE", "value": "manifest"},
            {"name": "DIR", "value": "/data/$(A)"},
        ]
    }
    found = build(
        None,  # nothing here refers to an object of the cluster
        POD,
        container,
        paths=Paths({"/data": "/real"}),
        machine={"A": "machine", "M": "machine"},
        injected={"B": "/data/injected", "GONE": None},
    )
    assert found == {
        "A": "manifest",
        "B": "/real/injected",
        "M": "machine",
        "DIR": "/real/manifest",
    }
