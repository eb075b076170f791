"""Nothing secret and nothing that acts on the terminal is printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.provider.redaction import redact


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("token hf_AbCdEf0123456789 used", "hf_AbCdEf0123456789"),
        ("Authorization: Bearer abc.def-123", "abc.def-123"),
        ("authorization=bearer xyz", "xyz"),
        ("HF_TOKEN=whatever-it-is next", "whatever-it-is"),
        ('{"access_token": "ya29.a0AfB_byC1234567"}', "ya29.a0AfB_byC1234567"),
        ("hf_access_token=plain", "plain"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "c2lnbmF0dXJl"),
        ("-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----", "MHc"),
        ("-----BEGIN PRIVATE KEY-----\ncut off", "cut off"),
        ("the kubeconfig said s3cret-thing", "s3cret-thing"),
    ],
)
def test_secrets_are_masked_and_the_rest_stays(text: str, secret: str) -> None:
    shown = redact(text, frozenset({"s3cret-thing"}))
    assert secret not in shown
    assert "[secret]" in shown


@pytest.mark.parametrize(
    "text",
    ["loss: 1.234, step 5", "hf_path=json", "tokens per second: 12", "gs://b/hf_trained/x"],
)
def test_ordinary_lines_are_left_alone(text: str) -> None:
    assert redact(text) == text


@given(st.text())
def test_no_control_codes_pass(text: str) -> None:
    assert not any(
        ord(c) < 32 and c not in "\n\t" for c in redact("\x1b[31m" + text + "\x1b]0;t\x07")
    )
