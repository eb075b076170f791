"""Turn an exit code and the last log lines of a pod into one sentence and what to do.

Signatures are of MaxText 0.2.4, JAX 0.11, Orbax 0.12 and Kubernetes, from observed runs and
public reports (MaxText's and JAX's issue trackers). The first that matches wins, so the more
specific ones come first.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Diagnosis:
    """Why a stage failed, what to do about it, and whether trying again can help by itself."""

    sentence: str
    remedy: str
    retry_helps: bool


@dataclass(frozen=True)
class _Signature:
    pattern: re.Pattern[str]
    diagnosis: Diagnosis


def _signature(
    pattern: str, sentence: str, remedy: str, *, retry_helps: bool = False
) -> _Signature:
    return _Signature(re.compile(pattern, re.I), Diagnosis(sentence, remedy, retry_helps))


_SIGNATURES = (
    _signature(
        r"First profile step \d+ cannot be greater than the last profile step",
        "The profiler was asked for steps that a resumed run does not make.",
        "Leave `profiler` out of the run's arguments and run `pulumi up` again.",
    ),
    _signature(
        r"MAXTEXT CONFIG ERROR|validation errors? for MaxTextConfig|Unknown command line flag"
        r"|ValueError: '?\w+'? not in '",
        "MaxText refused an argument.",
        "Correct the argument named in the lines above in the stack's `run` block.",
    ),
    _signature(
        r"Architecture mismatch",
        "The model on the Hub and MaxText's table of the model differ.",
        "Check `run.model_name` and `run.hub_id`; gemma4-31b needs --override_model_architecture.",
    ),
    _signature(
        r"GatedRepoError|Access to model .* is restricted|gated repo|awaiting a review",
        "The Hub does not give this token the model: its licence is not accepted or the token "
        "lacks access to gated repositories.",
        "Accept the licence on the model's page with the token's account, or set another token.",
    ),
    _signature(
        r"401 Client Error.*huggingface|Invalid (?:user|username or password|credentials in Auth)"
        r"|RepositoryNotFoundError|LocalTokenNotFoundError",
        "The Hub refused the token or does not know the repository.",
        "Set a valid token (`pulumi config set --secret hf_token`) and check the Hub id.",
    ),
    _signature(
        r"Not enough free disk space|No space left on device|low on resource: ephemeral-storage",
        "The node ran out of disk.",
        "Give the nodes a larger disk, or keep the Hub's cache in memory.",
    ),
    _signature(
        r"RESOURCE_EXHAUSTED|Ran out of memory in memory space hbm|Out of memory allocating",
        "The model does not fit into the chips' memory.",
        "Use a smaller `per_device_batch_size` or `max_target_length`, or a larger slice.",
    ),
    _signature(
        r"Aborting training due to (?:NaN|Inf) loss",
        "The loss became NaN or infinite; no checkpoint was written for that step.",
        "Use a lower learning rate under a new `run.name`.",
    ),
    _signature(
        r"maxtext_state_dict must be a subset|Hint: .*scan_layers",
        "The checkpoint was written with another `scan_layers` than it is read with.",
        "Use one `scan_layers` value for all stages.",
    ),
    _signature(
        r"No valid Orbax checkpoint found|Found incomplete checkpoint",
        "The checkpoint that was to be loaded is missing or incomplete.",
        "Run `pulumi up` again; if it stays, look at the objects under the path named above.",
        retry_helps=True,
    ),
    _signature(
        r"does not have (?:serviceusage|storage)\.[\w.]+ access|AccessDenied|403 .*storage"
        r"|GCS bucket '.*' not found or accessible",
        "The pods may not use the bucket.",
        "Grant the pods' identity roles/storage.objectAdmin and roles/storage.legacyBucketReader "
        "on the bucket.",
    ),
    _signature(
        r"DEADLINE_EXCEEDED.*RegisterTask|RegisterTask.*DEADLINE_EXCEEDED|Barrier timed out"
        r"|Timed out waiting for all (?:tasks|processes)",
        "Not all hosts found each other in time: a slow image pull, or port 8482 is closed between "
        "the nodes.",
        "Run `pulumi up` again; if it stays, open TCP 8482 between the nodes.",
        retry_helps=True,
    ),
    _signature(
        r"Failed to rename .*__lock",
        "The OCDBT writer lost its lock file (a known fault of the storage library).",
        "Run `pulumi up` again.",
        retry_helps=True,
    ),
    _signature(
        r"JAX distributed service detected fatal errors|heartbeat timeout|coordination service",
        "Another host of the slice died; this one only noticed it.",
        "Run `pulumi up` again: training resumes from the last committed checkpoint.",
        retry_helps=True,
    ),
)
# Kubernetes keeps 2 KB of a log's end; anything longer is no termination message.
_LOOKED_AT = 16 * 1024
_EVICTED = Diagnosis(
    "Kubernetes took the pod off its node.",
    "Run `pulumi up` again; if it was disk or memory pressure, give the nodes more of it.",
    True,
)
_BY_REASON = {
    "OOMKilled": Diagnosis(
        "The container used more memory than the host gives it.",
        "Use a machine with more memory (a conversion needs twice the model's size).",
        False,
    ),
    "DeadlineExceeded": Diagnosis(
        "The job reached the time limit of its manifest.",
        "Raise the stage's time limit, then run `pulumi up` again.",
        False,
    ),
    "Evicted": _EVICTED,
    "NodeLost": _EVICTED,
    "Preempted": Diagnosis(
        "The node was preempted.",
        "Run `pulumi up` again: training resumes from the last committed checkpoint.",
        True,
    ),
}
_RESUME = "Run `pulumi up` again: training resumes from the last committed checkpoint."
_BY_CODE = {
    1: Diagnosis("The program ended with an exception.", "Read the last lines above.", False),
    2: Diagnosis("The program refused its arguments.", "Correct the arguments named above.", False),
    134: Diagnosis("JAX aborted because another host died.", _RESUME, True),
    137: Diagnosis(
        "The process was killed: out of host memory, evicted, or its grace period was over.",
        "Run `pulumi up` again; if it stays, use hosts with more memory.",
        True,
    ),
    139: Diagnosis("The process crashed, as it does when the TPU is still held.", _RESUME, True),
    143: Diagnosis("The pod was asked to stop: its node was drained or preempted.", _RESUME, True),
}


def diagnose(exit_code: int | None, reason: str, last_lines: str) -> Diagnosis | None:
    """Return the diagnosis of a failed pod, or None when nothing known fits.

    `reason` is the container's or pod's reason (OOMKilled, Evicted...); `last_lines` the end of
    the log or the termination message.
    """
    last_lines = last_lines[-_LOOKED_AT:]
    # A pod evicted for disk says so in its message, which tells more than the reason does.
    for signature in _SIGNATURES:
        if signature.pattern.search(last_lines):
            return signature.diagnosis
    if reason in _BY_REASON:
        return _BY_REASON[reason]
    return _BY_CODE.get(exit_code) if exit_code is not None else None
