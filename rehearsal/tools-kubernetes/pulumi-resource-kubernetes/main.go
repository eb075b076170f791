// Command pulumi-resource-kubernetes is Pulumi's own Kubernetes provider as an engine plugin.
//
// It is a module of its own because the provider does not compile against the versions of
// Pulumi and client-go that the other tools need.
package main

import "github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"

// The program's SDK declares the resources; the engine asks this plugin for a schema only to
// generate code, so an empty one is enough.
var schema, terraformMapping = []byte(`{"name":"kubernetes"}`), []byte("{}")

func main() {
	provider.Serve("kubernetes", "4.34.2", schema, terraformMapping)
}
