"""A stand-in for the Kubernetes provider's plugin, which takes a quarter of an hour to build."""
