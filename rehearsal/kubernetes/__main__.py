"""The engine plugin `kubernetes` of the rehearsal: rehearsal/bin/pulumi-resource-kubernetes."""

from rehearsal.kubernetes.provider import KubernetesProvider
from rehearsal.plugin import serve

serve(KubernetesProvider(), "4.34.2")
