"""Keep secrets out of everything that is printed."""

import re

_MASK = "[secret]"
_PATTERNS = (
    re.compile(r"\bhf_[A-Za-z0-9]{8,}"),  # Hugging Face user tokens
    re.compile(r"\bya29\.[A-Za-z0-9_.\-]{8,}"),  # Google access tokens
    re.compile(r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]*"),  # JSON web tokens
    re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S
    ),
)
# The name in front stays readable; only the value goes.
_NAMED = re.compile(
    r"(?i)\b((?:authorization\s*[:=]\s*)?bearer\s+"
    r"|[\w.-]*(?:access[_-]?token|hf[_-]?token|api[_-]?key|secret[_-]?key|password|client-key-data)"
    r"[\"']?\s*[:=]\s*[\"']?)"
    r"([^\s\"',;]+)"
)
# Colours and cursor movement of a trainer's log would act on the user's terminal.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def redact(text: str, known_secrets: frozenset[str] = frozenset()) -> str:
    """Return `text` without tokens, keys, the given secrets and terminal control codes."""
    for secret in known_secrets:
        if len(secret) >= 4:
            text = text.replace(secret, _MASK)
    for pattern in _PATTERNS:
        text = pattern.sub(_MASK, text)
    text = _NAMED.sub(lambda match: match.group(1) + _MASK, text)
    return _CONTROL.sub("", _ESCAPES.sub("", text))
