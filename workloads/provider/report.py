"""Write the text of a failed stage: one screen that answers why, what is left, and how to go on."""

from collections.abc import Sequence
from dataclasses import dataclass

from workloads.provider.attempt import Ending
from workloads.provider.diagnosis import Diagnosis, diagnose
from workloads.provider.inputs import Finished, StageInputs
from workloads.provider.pods import PodFacts
from workloads.provider.proof import Proof

_LAST_LINES = 15
_LINE_WIDTH = 200


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Everything a failure report tells.

    `summary` is the first line: what happened to which JobSet. `still_billing` has one line per
    part, the last one being the command that stops it. `log_command` shows the whole log.
    """

    stage: str
    summary: str
    pod: PodFacts | None = None
    diagnosis: Diagnosis | None = None
    progress: str = ""
    log_command: str = ""
    findings: Sequence[str] = ()
    finished: Sequence[Finished] = ()
    still_billing: Sequence[str] = ()
    go_on: str = "`pulumi up` runs this stage again and then the ones after it."


def explain(stage: StageInputs, ending: Ending, reached: str, proof: Proof | None) -> Failure:
    """Return why a watched JobSet is no success; `reached` is how far its log came."""
    pod = ending.pod
    findings = list(proof.problems) if proof and ending.kind == "completed" else []
    if ending.kind in ("start-timeout", "deleted"):
        findings.append(f"pods: {ending.situation}")
    if ending.kind == "lost":
        findings.append("the JobSet may go on; the next `pulumi up` attaches to it")
    if proof is not None and proof.committed_step is not None:
        parts = (reached, f"last committed checkpoint: step {proof.committed_step}")
        reached = "; ".join(part for part in parts if part)
    return Failure(
        stage=stage.stage,
        summary=f"JobSet {stage.namespace}/{stage.name} {_what(ending)}",
        pod=pod,
        diagnosis=diagnose(pod.exit_code, pod.reason, pod.last_lines) if pod else None,
        progress=reached,
        log_command=f"kubectl -n {stage.namespace} logs {pod.name}" if pod else "",
        findings=findings,
    )


def _what(ending: Ending) -> str:
    if ending.kind == "completed":
        return "completed, but its result is not there"
    return f"failed ({ending.text})" if ending.kind == "failed" else ending.text


def write(failure: Failure) -> str:
    """Return the report as plain text, not yet redacted."""
    lines = [f"{failure.stage}: {failure.summary}"]
    lines += [f"  {finding}" for finding in failure.findings]
    lines += _pod(failure.pod)
    if failure.progress:
        lines.append(f"  reached: {failure.progress}")
    if failure.diagnosis is not None:
        lines.append(f"  why: {failure.diagnosis.sentence}")
        lines.append(f"  what to do: {failure.diagnosis.remedy}")
    if failure.log_command:
        lines.append(f"  log: {failure.log_command}")
    lines += _finished(failure.finished)
    lines += _billing(failure.still_billing)
    if failure.go_on:
        lines.append(f"  how to go on: {failure.go_on}")
    return "\n".join(lines)


def _pod(pod: PodFacts | None) -> list[str]:
    if pod is None:
        return []
    code = "no exit code" if pod.exit_code is None else f"exit code {pod.exit_code}"
    reason = f" ({pod.reason})" if pod.reason else ""
    lines = [
        f"  pod {pod.name}: slice {pod.slice_index}, host {pod.host_index}, "
        f"node {pod.node or '(none)'}, attempt {pod.attempt + 1}: {code}{reason}"
    ]
    last = [line for line in pod.last_lines.splitlines() if line.strip()][-_LAST_LINES:]
    if last:
        lines.append("  its last lines:")
        lines += [f"    {_cut(line)}" for line in last]
    return lines


def _cut(line: str) -> str:
    return line if len(line) <= _LINE_WIDTH else line[: _LINE_WIDTH - 1] + "…"


def _finished(finished: Sequence[Finished]) -> list[str]:
    if not finished:
        return ["  finished before it: nothing"]
    return ["  finished and kept:"] + [f"    {stage.stage}: {stage.url}" for stage in finished]


def _billing(still_billing: Sequence[str]) -> list[str]:
    return ["  still billing:"] + [f"    {line}" for line in still_billing] if still_billing else []
