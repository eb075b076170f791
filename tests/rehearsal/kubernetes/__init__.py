"""Tests of the stand-in for the Kubernetes provider."""
