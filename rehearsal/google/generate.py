"""Writes schema.json, so that what the double accepts comes from Google and pulumi-gcp.

    pip install google-api-python-client   # in a throw-away environment
    python -m rehearsal.google.generate

Names, types and required inputs come from the classes of the installed `pulumi_gcp`; enums and
name patterns from the discovery documents that `google-api-python-client` ships. Neither is
imported at run time: both together cost seconds and a hundred megabytes.
"""

from __future__ import annotations

import collections.abc
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import typing
from pathlib import Path
from typing import Any

from pulumi import _types

from rehearsal.google.schema import SCHEMA_FILE

Field = dict[str, Any]

# Type token -> (module and class in pulumi_gcp, discovery document, its schema).
SOURCES: dict[str, tuple[str, str, str | None, str | None]] = {
    "gcp:projects/service:Service": ("projects.service", "Service", None, None),
    "gcp:projects/iAMMember:IAMMember": ("projects.iam_member", "IAMMember", None, None),
    "gcp:serviceaccount/account:Account": (
        "serviceaccount.account", "Account", "iam.v1", "ServiceAccount",
    ),
    "gcp:serviceaccount/iAMMember:IAMMember": (
        "serviceaccount.iam_member", "IAMMember", None, None,
    ),
    "gcp:storage/bucket:Bucket": ("storage.bucket", "Bucket", "storage.v1", "Bucket"),
    "gcp:storage/bucketIAMMember:BucketIAMMember": (
        "storage.bucket_iam_member", "BucketIAMMember", None, None,
    ),
    "gcp:compute/network:Network": ("compute.network", "Network", "compute.beta", "Network"),
    "gcp:compute/subnetwork:Subnetwork": (
        "compute.subnetwork", "Subnetwork", "compute.beta", "Subnetwork",
    ),
    "gcp:compute/router:Router": ("compute.router", "Router", "compute.beta", "Router"),
    "gcp:compute/routerNat:RouterNat": (
        "compute.router_nat", "RouterNat", "compute.beta", "RouterNat",
    ),
    "gcp:compute/firewall:Firewall": ("compute.firewall", "Firewall", "compute.beta", "Firewall"),
    "gcp:container/cluster:Cluster": (
        "container.cluster", "Cluster", "container.v1beta1", "Cluster",
    ),
    "gcp:container/nodePool:NodePool": (
        "container.node_pool", "NodePool", "container.v1beta1", "NodePool",
    ),
}  # fmt: skip

# Where the provider's name of a field is not the API's (dots: a field further inside).
RENAMED = {
    "nodeConfig": "config",
    "allows": "allowed",
    "denies": "denied",
    "protocol": "IPProtocol",
    "datapathProvider": "networkConfig.datapathProvider",
    "publicAccessPrevention": "iamConfiguration.publicAccessPrevention",
    "routingMode": "routingConfig.routingMode",
    "exclusionOptions": "maintenanceExclusionOptions",
}
# The discovery document names these values only in the field's description.
DESCRIBED = {
    "iamConfiguration.publicAccessPrevention": ["inherited", "enforced"],
    "storageClass": ["MULTI_REGIONAL", "REGIONAL", "STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE"],
}
# Inline pools repeat every field of a node pool; the double refuses them by not knowing them.
LEFT_OUT = {"gcp:container/cluster:Cluster": {"nodePools"}}


def main() -> None:
    """Generate the file from what is installed.

    Raises:
        ModuleNotFoundError: pulumi_gcp or google-api-python-client is not installed.
    """
    kinds = {token: _kind(token, *source) for token, source in SOURCES.items()}
    sources = {
        package: importlib.metadata.version(package)
        for package in ("pulumi-gcp", "google-api-python-client")
    }
    lines = ",\n".join(
        f"{json.dumps(token)}: {json.dumps(kind, separators=(',', ':'), sort_keys=True)}"
        for token, kind in sorted(kinds.items())
    )
    SCHEMA_FILE.write_text(f'{{"sources": {json.dumps(sources)},\n"kinds": {{\n{lines}\n}}}}\n')


def _kind(
    token: str, module: str, name: str, document: str | None, schema: str | None
) -> dict[str, Any]:
    """Everything the double needs to know about one resource type."""
    loaded = importlib.import_module(f"pulumi_gcp.{module}")
    inputs = _fields(getattr(loaded, f"{name}Args"))
    for left_out in LEFT_OUT.get(token, ()):
        inputs.pop(left_out)
    if document and schema:
        _annotate(inputs, _document(document), schema)
    return {"inputs": inputs, "outputs": sorted(_types.resource_types(getattr(loaded, name)))}


def _fields(cls: type) -> dict[str, Field]:
    """The input fields of an args class, by the names that travel to a provider."""
    names = _types.input_type_py_to_pulumi_names(cls)
    types = _types.input_type_types(cls)
    parameters = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
    result = {}
    for python_name, name in names.items():
        field = _field(types[name])
        if parameters[python_name].default is inspect.Parameter.empty:
            field["required"] = True
        result[name] = field
    return result


def _field(declared: Any) -> Field:
    """One field's type; unions of a value with its awaitable and Output count as the value."""
    origin = typing.get_origin(declared)
    if origin is typing.Union:
        return _field(typing.get_args(declared)[0])
    if origin in (list, collections.abc.Sequence):
        return {"type": "array", "items": _field(typing.get_args(declared)[0])}
    if origin in (dict, collections.abc.Mapping):
        return {"type": "map", "items": _field(typing.get_args(declared)[1])}
    scalar = {str: "string", bool: "boolean", int: "integer", float: "number"}.get(declared)
    if scalar:
        return {"type": scalar}
    if isinstance(declared, type) and _types.is_input_type(declared):
        return {"type": "object", "fields": _fields(declared)}
    return {"type": "any"}


def _annotate(fields: dict[str, Field], document: dict[str, Any], schema: str) -> None:
    """Add enums and patterns of a discovery schema to the fields of the same name."""
    properties = document[schema]["properties"] if schema in document else {}
    _annotate_from(fields, document, properties)


def _annotate_from(
    fields: dict[str, Field], document: dict[str, Any], properties: dict[str, Any]
) -> None:
    for name, field in fields.items():
        path = RENAMED.get(name, name)
        found = _property(document, properties, path) or _property(document, properties, name)
        if found is None:
            continue
        target = field["items"] if field["type"] == "array" else field
        source = _resolved(document, found.get("items", found))
        for key in ("enum", "pattern"):
            if key in source and target["type"] == "string":
                target[key] = source[key]
        if path in DESCRIBED:
            target["enum"] = DESCRIBED[path]
        if target["type"] == "object" and "properties" in source:
            _annotate_from(target["fields"], document, source["properties"])


def _property(document: dict[str, Any], properties: dict[str, Any], path: str) -> Any:
    """A property by dotted path, through references, or None."""
    head, _, rest = path.partition(".")
    found = properties.get(head)
    if found is None or not rest:
        return found and _resolved(document, found)
    return _property(document, _resolved(document, found).get("properties", {}), rest)


def _resolved(document: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    return document[found["$ref"]] if "$ref" in found else found


def _document(name: str) -> dict[str, Any]:
    """The schemas of a discovery document shipped by google-api-python-client."""
    spec = importlib.util.find_spec("googleapiclient")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("run: pip install google-api-python-client (then generate again)")
    folder = Path(spec.submodule_search_locations[0]) / "discovery_cache" / "documents"
    schemas: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())["schemas"]
    return schemas


if __name__ == "__main__":
    main()
