from __future__ import annotations

import importlib.metadata
import json

from rehearsal.google.generate import RENAMED, SOURCES, _annotate_from, _kind
from rehearsal.google.registry import KINDS
from rehearsal.google.schema import SCHEMA_FILE


def test_the_data_file_was_made_from_the_installed_provider_package() -> None:
    """After an upgrade: `python -m rehearsal.google.generate` (see its docstring)."""
    sources = json.loads(SCHEMA_FILE.read_text())["sources"]
    assert sources["pulumi-gcp"] == importlib.metadata.version("pulumi-gcp")


def test_the_generator_and_the_registry_know_the_same_types() -> None:
    assert set(SOURCES) == set(KINDS)


def test_names_types_and_required_inputs_come_from_the_providers_classes() -> None:
    kind = _kind("gcp:projects/service:Service", "projects.service", "Service", None, None)
    assert kind["inputs"]["service"] == {"type": "string", "required": True}
    assert kind["inputs"]["disableOnDestroy"] == {"type": "boolean"}


def test_enums_and_patterns_come_from_the_discovery_document_by_name_and_by_renaming() -> None:
    assert RENAMED["publicAccessPrevention"] == "iamConfiguration.publicAccessPrevention"
    document = {"Routing": {"properties": {"routingMode": {"type": "string", "enum": ["GLOBAL"]}}}}
    properties = {
        "routingConfig": {"$ref": "Routing"},
        "name": {"type": "string", "pattern": "[a-z]+"},
    }
    fields = {"routingMode": {"type": "string"}, "name": {"type": "string"}}
    _annotate_from(fields, document, properties)
    assert fields["routingMode"]["enum"] == ["GLOBAL"]  # type: ignore[comparison-overlap]
    assert fields["name"]["pattern"] == "[a-z]+"
