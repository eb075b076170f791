"""The figures of docs/performance.md, measured anew by `make bench`."""
