"""The one error of the toolchain, so that callers show a sentence and not a traceback."""


class ToolchainError(Exception):
    """The toolchain cannot be made; the text says why and what to do."""
