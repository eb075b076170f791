"""Known ends of a pod, each with the sentence that names it."""

import pytest

from workloads.provider.diagnosis import diagnose


@pytest.mark.parametrize(
    ("code", "reason", "lines", "says", "retry"),
    [
        (1, "", "MAXTEXT CONFIG ERROR: x", "refused an argument", False),
        (1, "", "ValueError: 'foo_bar' not in 'emb_dim', ", "refused an argument", False),
        (1, "", "First profile step 1001 cannot be greater than the last profile step 1000.",
         "profiler", False),
        (1, "", "XlaRuntimeError: RESOURCE_EXHAUSTED: ", "chips' memory", False),
        (1, "", "Aborting training due to NaN loss.", "NaN", False),
        (1, "", "huggingface_hub.errors.GatedRepoError: 403", "licence", False),
        (1, "", "401 Client Error: Unauthorized for url: https://huggingface.co/x", "token", False),
        (1, "", "Not enough free disk space to download", "out of disk", False),
        (None, "Evicted", "The node was low on resource: ephemeral-storage.", "out of disk", False),
        (None, "Evicted", "", "off its node", True),
        (1, "", "x does not have storage.buckets.get access", "may not use the bucket", False),
        (1, "", "DEADLINE_EXCEEDED: RegisterTask", "8482", True),
        (1, "", "Architecture mismatches found", "differ", False),
        (1, "", "Hint: try scan_layers=True", "scan_layers", False),
        (137, "OOMKilled", "", "more memory than the host", False),
        (134, "", "Terminating process because the JAX distributed service detected fatal errors",
         "Another host", True),
        (134, "", "", "another host died", True),
        (137, "", "", "killed", True),
        (139, "", "", "crashed", True),
        (143, "", "", "asked to stop", True),
        (2, "", "", "arguments", False),
        (1, "", "KeyError: 'x'", "exception", False),
        (None, "DeadlineExceeded", "", "time limit", False),
    ],
)  # fmt: skip
def test_each_known_end_has_its_sentence(
    code: int | None, reason: str, lines: str, says: str, retry: bool
) -> None:
    found = diagnose(code, reason, lines)
    assert found is not None
    assert says in found.sentence
    assert found.retry_helps is retry
    assert found.remedy.endswith(".")


def test_what_is_not_known_is_not_guessed() -> None:
    assert diagnose(77, "", "something new") is None
