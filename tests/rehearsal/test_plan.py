"""The plan is told by the real program, so it cannot differ from what `up` does."""

from pathlib import Path

import pytest

from rehearsal.environment import CHECKOUT
from rehearsal.plan import STAGE_TYPE, Resources, declared_resources, plan_lines, stack_config

GUIDE = "rehearsal-guide"


@pytest.fixture(scope="module")
def resources() -> Resources:
    return declared_resources(GUIDE)


@pytest.fixture(scope="module")
def lines(resources: Resources) -> list[str]:
    return plan_lines(GUIDE, stack_config(CHECKOUT / f"Pulumi.{GUIDE}.yaml"), resources)


def test_the_plan_names_the_three_stages_in_order_with_their_arguments(lines: list[str]) -> None:
    numbered = [line.split()[:2] for line in lines if ": python3 -m maxtext." in line]
    assert numbered == [["1", "hf-to-mt:"], ["2", "sft:"], ["3", "mt-to-hf:"]]
    assert "      steps=1000" in lines


def test_the_plan_says_what_the_training_holds(lines: list[str]) -> None:
    assert sum("8 pods x 4 chips" in line for line in lines) == 1
    assert sum("1 pod, no chips" in line for line in lines) == 2


def test_the_plan_counts_every_resource_of_google_and_kubernetes(
    lines: list[str], resources: Resources
) -> None:
    (made,) = [line for line in lines if line.startswith("makes: ")]
    counts = [int(part.split()[0]) for part in made.removeprefix("makes: ").split(", ")]
    assert sum(counts) == sum(item.typ.startswith(("gcp:", "kubernetes:")) for item in resources)


def test_the_plan_tells_what_bills_and_how_to_stop_it(lines: list[str]) -> None:
    assert "pulumi destroy" in lines[-1]
    assert any("GKE control plane" in line for line in lines)


def test_an_encrypted_value_is_no_part_of_the_plans_config(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text("config:\n  maxtext-sft:hf_token:\n    secure: v1:abc\n  maxtext-sft:run: {}\n")
    assert stack_config(file) == {"maxtext-sft:run": "{}"}


def test_every_stage_of_the_plan_is_a_resource_of_the_stage_provider(resources: Resources) -> None:
    assert sum(item.typ == STAGE_TYPE for item in resources) == 3
