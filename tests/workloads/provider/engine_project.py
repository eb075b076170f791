"""A Pulumi project of two stages in a folder of its own, driven by the real CLI."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = '''
import json
import pulumi

config = pulumi.Config()
asked = json.loads(open("stages.json").read())


class Stage(pulumi.CustomResource):
    """A stage, with the outputs that the program reads."""

    state: pulumi.Output[str]
    proven_digest: pulumi.Output[str]
    url: pulumi.Output[str]
    figures: pulumi.Output[dict]
    took_seconds: pulumi.Output[float]

    def __init__(self, name, props, opts=None):
        outputs = dict.fromkeys(("state", "proven_digest", "figures", "took_seconds"))
        super().__init__("maxtext:index:Stage", name, {**outputs, **props}, opts)


class Preflight(pulumi.CustomResource):
    def __init__(self, name, commands):
        super().__init__("maxtext:index:Preflight", name, {"commands": commands})


ready = Preflight("preflight", config.require_object("commands"))
kubeconfig = config.require_secret("kubeconfig")
reads, done, exported = [], [], []
for props in asked:
    settings = {**props["settings"], **(config.get_object(props["stage"]) or {})}
    if "steps" in settings:
        props["artifacts"]["steps"] = settings["steps"]
        steps = str(settings["steps"])
    if props["stage"] == "mt-to-hf":
        folder = props["directory"].replace("/20/", f"/{steps}/")
        props.update(directory=folder, url=folder)
        props["artifacts"]["url"] = folder
    stage = Stage(
        props["stage"],
        {
            **props,
            "settings": settings,
            "kubeconfig": kubeconfig,
            "reads": reads,
            "finished": done,
            "operational": {"image": config.get("image") or "maxtext:1"},
        },
        pulumi.ResourceOptions(depends_on=[ready]),
    )
    reads = [{"stage": props["stage"], "url": stage.url, "digest": stage.proven_digest}]
    done = [*done, {"stage": props["stage"], "url": stage.url}]
    exported.append(
        {"name": props["stage"], "state": stage.state, "url": stage.url, "took": stage.took_seconds}
    )
pulumi.export("stages", exported)
'''

PROJECT = """\
name: stages
runtime:
  name: python
plugins:
  providers:
    - name: maxtext
      path: {provider}
"""


@dataclass
class EngineProject:
    """The project's folder and the environment of its commands."""

    folder: Path
    environment: dict[str, str]
    stack: str = "dev"
    config: dict[str, Any] = field(default_factory=dict)

    def prepare(self, stages: list[dict[str, Any]], kubeconfig: str) -> None:
        """Write project, program and stack, and create the stack."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in ("state", "home"):
            (self.folder / name).mkdir(exist_ok=True)
        (self.folder / "Pulumi.yaml").write_text(
            PROJECT.format(provider=ROOT / "workloads" / "provider")
        )
        (self.folder / "__main__.py").write_text(PROGRAM)
        (self.folder / "stages.json").write_text(json.dumps(stages))
        self.run("stack", "init", self.stack)
        self.set("commands", ["sh"])
        self.run("config", "set", "--secret", "kubeconfig", kubeconfig)

    def set(self, key: str, value: Any) -> None:
        """Set a config key to a JSON value."""
        self.run("config", "set", key, json.dumps(value))

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run the CLI to its end."""
        done = subprocess.run(
            ["pulumi", *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        text = done.stdout + done.stderr
        assert not check or done.returncode == 0, text
        return done

    def up(self, *arguments: str, check: bool = True) -> str:
        """Run `pulumi up`; return all it printed."""
        done = self.run(
            "up", "--yes", "--non-interactive", "--skip-preview", *arguments, check=check
        )
        assert check or done.returncode != 0, done.stdout
        return done.stdout + done.stderr

    def start_up(self) -> "subprocess.Popen[str]":
        """Begin `pulumi up` and return its process, the leader of a process group of its own."""
        return subprocess.Popen(
            ["pulumi", "up", "--yes", "--non-interactive", "--skip-preview"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def preview(self) -> dict[str, dict[str, Any]]:
        """Return each resource's planned step, by name."""
        done = self.run("preview", "--json", "--non-interactive")
        steps = json.loads(done.stdout)["steps"]
        return {step["urn"].split("::")[-1]: step for step in steps}

    def state(self) -> dict[str, dict[str, Any]]:
        """Return each resource of the state, by name."""
        export = json.loads(self.run("stack", "export").stdout)
        resources = export["deployment"].get("resources") or []
        return {resource["urn"].split("::")[-1]: resource for resource in resources}


def environment(folder: Path, toolchain: Path, emulator: str) -> dict[str, str]:
    """Return the environment of an offline CLI with its own home and state."""
    path = os.pathsep.join([str(ROOT / "rehearsal" / "bin"), str(toolchain), os.environ["PATH"]])
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith("PULUMI_")},
        "PATH": path,
        "PULUMI_HOME": str(folder / "home"),
        "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
        "PULUMI_CONFIG_PASSPHRASE": "test",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "REHEARSAL_PYTHON": sys.executable,
        "VIRTUAL_ENV": sys.prefix,
        "STORAGE_EMULATOR_HOST": emulator,
    }


def kill(process: "subprocess.Popen[str]", number: signal.Signals) -> None:
    """Send a signal to exactly this process."""
    os.kill(process.pid, number)
