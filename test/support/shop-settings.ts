import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PAUSE_IMAGE } from '../cluster/build.ts';
import { checkoutSample } from './sample-operator.ts';

/** Prints what it was given. Outside a cluster, a manager that elects a leader has to be told its namespace, or it exits at once. */
const MAIN = `package main

import (
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	settings := flag.String("settings", "", "Where the settings are.")
	flag.Parse()
	text, _ := os.ReadFile(*settings)
	fmt.Printf("HA=%s GREETING=%s settings=%s\\n", os.Getenv("SHOP_HA"), os.Getenv("GREETING"), text)
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		LeaderElection:   os.Getenv("SHOP_HA") == "true",
		LeaderElectionID: "shop",
		Metrics:          metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		panic(err)
	}
	if err := manager.Start(ctrl.SetupSignalHandler()); err != nil {
		panic(err)
	}
}
`;

/** A checkout of an operator without webhooks that has the API group of the sample operator. */
export async function checkoutShop(): Promise<AsyncDisposable & { directory: string }> {
  const checkout = await checkoutSample();
  const at = (name: string): string => join(checkout.directory, name);
  for (const name of ['internal', 'config', 'PROJECT', 'Makefile', 'Dockerfile'])
    await rm(at(name), { recursive: true });
  await writeFile(at('cmd/main.go'), MAIN);
  const module = await readFile(at('go.mod'), 'utf8');
  await writeFile(at('go.mod'), module.replace(/^module .*/m, 'module example.com/shop'));
  return checkout;
}

/** Its manager in a StatefulSet, with an argument, variables and a file. In the cluster, it does not have to do anything. */
export function shopInStatefulSet(namespace: string): string {
  return `
apiVersion: v1
kind: ConfigMap
metadata: {name: shop, namespace: ${namespace}}
data: {settings.yaml: from a file}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: shop, namespace: ${namespace}}
spec:
  replicas: 1
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - name: manager
        image: ${PAUSE_IMAGE}
        args: [--settings=/etc/shop/settings.yaml]
        env:
        - {name: SHOP_HA, value: "true"}
        - {name: GREETING, value: hello}
        volumeMounts: [{name: settings, mountPath: /etc/shop}]
      volumes: [{name: settings, configMap: {name: shop}}]
`;
}
