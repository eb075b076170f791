from __future__ import annotations

import pytest

from infra.token import checked_token


def test_pasted_blanks_are_dropped() -> None:
    assert checked_token(" hf_abc\n") == "hf_abc"


@pytest.mark.parametrize("value", ["hf_$a`", "-abc", "hf_a!b&c;#\\"])
def test_characters_a_shell_would_mind_are_kept_or_refused_but_never_changed(value: str) -> None:
    if "`" in value:
        with pytest.raises(ValueError, match="contains a quote"):
            checked_token(value)
    else:
        assert checked_token(value) == value


@pytest.mark.parametrize("value", [" ", "\n\t", '"hf_abc"', "'hf_abc'", "hf_a bc"])
def test_what_cannot_be_a_token_is_refused_without_showing_it(value: str) -> None:
    with pytest.raises(ValueError, match="pulumi config set --secret hf_token") as caught:
        checked_token(value)
    assert "hf_abc" not in str(caught.value)
