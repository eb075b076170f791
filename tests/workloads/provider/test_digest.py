"""What counts as another experiment, and what does not."""

from typing import Any

import hypothesis
from hypothesis import given
from hypothesis import strategies as st

from workloads.provider import digest as digests

SETTINGS = {"model_name": "gemma4-31b", "learning_rate": 2e-5, "steps": 1000}
READS = [{"stage": "hf-to-mt", "url": "gs://b/m/0/items/", "digest": "d"}]

# Few examples of small values: each rule is about one kind of value, not about size.
few = hypothesis.settings(max_examples=40)
scalars = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=4)
values = (
    scalars
    | st.lists(scalars, max_size=2)
    | st.dictionaries(st.text(max_size=2), scalars, max_size=2)
)
settings = st.dictionaries(st.text(min_size=1, max_size=3), values, max_size=3)


def document(changed: dict[str, Any] | None = None, reads: Any = READS) -> dict[str, Any]:
    return digests.document("sft", {**SETTINGS, **(changed or {})}, reads)


def on_the_wire(value: Any) -> Any:
    """As the engine gives a value back: whole numbers as doubles, keys in another order."""
    if isinstance(value, dict):
        return {key: on_the_wire(value[key]) for key in reversed(list(value))}
    if isinstance(value, list):
        return [on_the_wire(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@few
@given(settings)
def test_the_digest_survives_the_engines_wire_format(given_settings: dict[str, Any]) -> None:
    decisive = digests.document("sft", given_settings, READS)
    assert digests.digest(decisive) == digests.digest(on_the_wire(decisive))


@few
@given(settings, st.text(min_size=1, max_size=3), scalars)
def test_any_other_value_is_another_digest(
    given_settings: dict[str, Any], key: str, value: Any
) -> None:
    changed = {**given_settings, key: value}
    same = digests.canonical(changed) == digests.canonical(given_settings)
    first, second = (digests.document("sft", s, READS) for s in (given_settings, changed))
    assert (digests.digest(first) == digests.digest(second)) == same


def test_steps_change_the_digest_and_not_the_identity() -> None:
    assert digests.digest(document()) != digests.digest(document({"steps": 1200}))
    assert digests.identity(document()) == digests.identity(document({"steps": 1200}))
    assert digests.identity(document()) != digests.identity(document({"learning_rate": 1e-5}))


def test_the_same_path_with_another_content_is_another_experiment() -> None:
    reads = [{**READS[0], "digest": "converted again"}]
    assert digests.identity(document()) != digests.identity(document(reads=reads))


def test_a_setting_added_later_counts_in_old_records_as_what_it_was_then() -> None:
    defaults = {"packing": True}
    old, default = document(), document({"packing": True})
    other = document({"packing": False})
    assert digests.digest(old, defaults) == digests.digest(default, defaults)
    assert digests.digest(old, defaults) != digests.digest(other, defaults)
    assert digests.digest(old, defaults) == digests.digest(old)


def test_the_rules_of_the_digest_never_change() -> None:
    """A golden value: a change here would train every finished run again."""
    golden = "a55b584f7983fe5bc8e36796ac1ea958412cfbe487f76f5593224dde8baa7173"
    assert digests.digest(document()) == golden
    assert digests.canonical(document()) == (
        '{"reads":[{"digest":"d","url":"gs://b/m/0/items/"}],"settings":{"learning_rate":2e-05,'
        '"model_name":"gemma4-31b","steps":1000},"stage":"sft"}'
    )


def test_changed_settings_are_told_with_both_values() -> None:
    lines = digests.changed_settings({"a": 1, "b": 2}, {"a": 1.0, "b": 3, "c": "x"})
    assert lines == ["b: 2 -> 3", 'c: (not set) -> "x"']
