from __future__ import annotations

import re

import pytest

from infra.names import namespace_of

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@pytest.mark.parametrize("stack", ["dev", "Prod.EU", "a_b", "a-b", "x" * 100, "-", "9"])
def test_every_stack_name_gives_a_legal_namespace(stack: str) -> None:
    assert LABEL.fullmatch(namespace_of(stack))


def test_two_stacks_never_share_a_namespace() -> None:
    stacks = ["a-b", "a_b", "a.b", "A-b", "x" * 100, "x" * 101]
    assert len({namespace_of(stack) for stack in stacks}) == len(stacks)


def test_a_plain_stack_name_is_kept() -> None:
    assert namespace_of("rehearsal") == "maxtext-rehearsal"
