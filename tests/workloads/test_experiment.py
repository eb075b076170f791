from __future__ import annotations

from workloads.experiment import MANAGED_KEYS, OPERATIONAL_KEYS, experiment, operation


def test_an_argument_is_either_an_experiment_or_how_it_is_carried_out() -> None:
    arguments = {"weight_decay": "0.1", "log_period": "10", "profiler": "xplane"}
    assert experiment(arguments) == {"weight_decay": "0.1"}
    assert operation(arguments) == {"log_period": "10", "profiler": "xplane"}


def test_the_batch_of_one_chip_is_not_the_experiment() -> None:
    assert experiment({"per_device_batch_size": "1", "steps": "5"}) == {}


def test_nothing_that_changes_numbers_counts_as_operational() -> None:
    numbers = {"learning_rate", "weight_dtype", "dtype", "steps", "optimizer", "packing"}
    assert not OPERATIONAL_KEYS & numbers


def test_every_managed_key_says_where_it_comes_from() -> None:
    assert all(reason for reason in MANAGED_KEYS.values())
