"""What counts as a Hugging Face token: pasted blanks are dropped, leftovers of quoting refused."""

from __future__ import annotations


def checked_token(value: str) -> str:
    """Return the token without surrounding blanks.

    Raises ValueError, without showing the value, when nothing is left or it cannot be a token.
    """
    token = value.strip()
    if not token:
        raise ValueError(
            "hf_token consists of blanks: set it with `pulumi config set --secret hf_token`,"
            " or remove it where no token is needed"
        )
    if any(character in token for character in "\"'`") or any(map(str.isspace, token)):
        raise ValueError(
            "hf_token contains a quote or a blank, which no token does: set it again with"
            " `pulumi config set --secret hf_token`, without quotes around it"
        )
    return token
