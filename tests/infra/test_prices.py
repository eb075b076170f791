from __future__ import annotations

import pytest

from infra.prices import always_on, during, total
from tests.infra.test_config import place


def test_an_unknown_price_is_none_and_never_zero() -> None:
    nowhere = place(
        region="us-nowhere1", zone="us-nowhere1-a", capacity="on-demand", reservation=None
    )
    parts = during(nowhere, on_slice=True)
    assert total(parts) is None
    assert all(part.usd_per_hour != 0 for part in parts)
    assert "price unknown" in parts[-1].line


def test_on_demand_slices_bill_only_while_a_stage_runs_on_them() -> None:
    home = place(region="us-central1", zone="us-central1-b", capacity="on-demand", reservation=None)
    idle = total(always_on(home))
    training = total(during(home, on_slice=True))
    converting = total(during(home, on_slice=False))
    assert idle is not None
    assert training is not None
    assert converting is not None
    assert training - idle == pytest.approx(86.40)
    assert converting - idle == pytest.approx(2.096)


def test_a_reservation_bills_all_the_time_and_says_so() -> None:
    (line,) = [part.line for part in always_on(place()) if part.what.startswith("TPU")]
    assert "bills by contract while it exists, used or not" in line
    assert "$86.40/h" in line
    assert always_on(place()) == during(place(), on_slice=False)
