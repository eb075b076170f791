"""A stand-in for Google Cloud's side of the program: the engine plugin `gcp` of the rehearsal."""
