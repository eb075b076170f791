from __future__ import annotations

from tests.infra.test_config import place
from tests.workloads.test_config import run
from workloads.outputs import loading, still_billing
from workloads.stages import finetune_stages


def test_what_bills_ends_with_the_command_that_stops_it() -> None:
    keeping = still_billing(place())[-1]
    assert keeping.startswith("stop it with `pulumi destroy`")
    assert "cluster.adopt_bucket: true takes it back" in keeping
    deleting = still_billing(place(delete_bucket_on_destroy=True))
    assert deleting[-1] == "stop it with `pulumi destroy`"


def test_the_next_commands_fetch_and_load_the_export() -> None:
    fetch, load = loading(finetune_stages(run(), place())[-1], run(name="mine"))
    assert fetch == (
        "gcloud storage cp --recursive gs://my-bucket/gemma4-31b/hf-trained/sft/1000/ mine"
    )
    assert "from_pretrained('mine')" in load
