"""Fine-tune a model with MaxText on a TPU slice: from an empty project to an exported model."""

import pulumi

from infra.cluster import TrainingCluster
from infra.config import Home
from infra.identity import BucketAccess, NodeIdentity
from infra.jobset import JobSet
from infra.names import namespace_of
from infra.namespace import TrainingNamespace
from infra.network import ClusterNetwork
from infra.project import Project
from infra.storage import Storage
from workloads.outputs import still_billing
from workloads.run import FinetuneRun
from workloads.settings import read_secrets, read_settings

config = pulumi.Config()
place, plan = read_settings(config.require_object("cluster"), config.require_object("run"))
home = Home(place=place, namespace=namespace_of(pulumi.get_stack()))
secrets = read_secrets(config.get("hf_token"), plan)

project = Project("project", place=place)
first = pulumi.ResourceOptions(provider=project.google, depends_on=[project])
storage = Storage("storage", place=place, opts=first)
network = ClusterNetwork("network", place=place, opts=first)
nodes = NodeIdentity("nodes", place=place, opts=first)
cluster = TrainingCluster("cluster", place=place, network=network, nodes=nodes, opts=first)
then = pulumi.ResourceOptions(providers=[project.google, cluster.kubernetes], depends_on=[cluster])
access = BucketAccess("access", home=home, storage=storage, nodes=nodes, opts=then)
jobset = JobSet("jobset", place=place, cluster=cluster, opts=then)
space = TrainingNamespace("namespace", home=home, secrets=secrets, cluster=cluster, opts=then)
ready = pulumi.ResourceOptions(depends_on=[storage, access, jobset, space])
run = FinetuneRun("run", plan=plan, home=home, cluster=cluster, opts=ready)

pulumi.export("bucket", storage.url)
pulumi.export("cluster", cluster.summary)
pulumi.export("stages", run.stages)
pulumi.export("next", run.next)
pulumi.export("still_billing", still_billing(place))
