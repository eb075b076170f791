// Command kube holds etcd and the three Kubernetes control-plane programs in one binary.
//
// They share most of their packages, so one link instead of four saves build time and two
// thirds of the disk. The first argument names the program, the rest are its own.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintf(os.Stderr, "usage: %s etcd|kube-apiserver|kube-controller-manager|kube-scheduler [flags]\n", filepath.Base(os.Args[0]))
		os.Exit(2)
	}
	program := os.Args[1]
	os.Args = os.Args[1:]
	commands := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllermanager.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	}
	if program == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	newCommand, known := commands[program]
	if !known {
		fmt.Fprintf(os.Stderr, "unknown program %q\n", program)
		os.Exit(2)
	}
	os.Exit(cli.Run(newCommand()))
}
