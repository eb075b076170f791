"""A stand-in for MaxText 0.2.4: its arguments, log lines, exit codes and object trees, no model.

The node puts this folder's parent on PYTHONPATH where a test needs seconds, eight hosts or a fault
on demand. Only the standard library is imported: eight of these start at once on two cores.
"""
