"""The failure text: one screen that answers why, what is left, and how to go on."""

from tests.workloads.provider.fake_api_server import pod
from workloads.provider.diagnosis import diagnose
from workloads.provider.inputs import Finished
from workloads.provider.pods import facts
from workloads.provider.report import Failure, write

JOBSET = {"metadata": {"name": "r-sft", "uid": "u"}}


def failure(lines: str) -> Failure:
    return Failure(
        stage="sft",
        summary="JobSet ns/r-sft failed",
        pod=facts(pod(JOBSET, 5, exit_code=1, message=lines)),
        diagnosis=diagnose(1, "", lines),
        progress="step 300/1000",
        log_command="kubectl -n ns logs x",
        finished=[Finished(stage="hf-to-mt", url="gs://b/m/0/items/")],
        still_billing=["TPU pool: $86.40/h", "stop: pulumi destroy"],
    )


def test_a_report_answers_every_question_in_order() -> None:
    text = write(failure("RESOURCE_EXHAUSTED"))
    order = [
        "sft: JobSet ns/r-sft failed",
        "slice 0, host 5, node tpu-5, attempt 1: exit code 1",
        "RESOURCE_EXHAUSTED",
        "reached: step 300/1000",
        "why: The model does not fit",
        "what to do: Use a smaller",
        "log: kubectl -n ns logs x",
        "hf-to-mt: gs://b/m/0/items/",
        "TPU pool: $86.40/h",
        "stop: pulumi destroy",
        "how to go on: `pulumi up`",
    ]
    positions = [text.index(part) for part in order]
    assert positions == sorted(positions)


def test_a_report_fits_on_one_screen_whatever_the_log_says() -> None:
    text = write(failure("\n".join("x" * 10_000 for _ in range(500))))
    assert len(text.splitlines()) <= 40
    assert max(len(line) for line in text.splitlines()) <= 210


def test_what_is_not_known_is_left_out() -> None:
    text = write(Failure(stage="sft", summary="lost"))
    assert text.splitlines() == [
        "sft: lost",
        "  finished before it: nothing",
        "  how to go on: `pulumi up` runs this stage again and then the ones after it.",
    ]
