"""The stage provider: an engine plugin that runs a JobSet to completion and proves its result."""
