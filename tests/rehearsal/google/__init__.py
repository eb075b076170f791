"""Tests of the stand-in for Google Cloud's provider."""
