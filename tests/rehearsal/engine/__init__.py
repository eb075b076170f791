"""The whole program on the real engine and a real control plane, one story a module."""
