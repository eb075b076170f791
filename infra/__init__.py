"""Where the run happens: project, network, bucket, identities and the GKE cluster with its TPUs."""
