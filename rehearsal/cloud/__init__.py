"""The local Google Cloud: one daemon per home that owns every process of it."""
