"""The engine plugin `gcp` of the rehearsal, started by rehearsal/bin/pulumi-resource-gcp."""

from rehearsal.environment import default_home
from rehearsal.google.provider import GoogleProvider
from rehearsal.plugin import serve

serve(GoogleProvider(default_home()), "10.2.0")
