import type { Container, Volume } from '../../../src/cluster/api/workloads.ts';
import { ANSWER, answerFile, goMod, groupFile, type Layout, WITH_RUNTIME } from './layout.ts';

const CERTIFICATES = '/tmp/k8s-webhook-server/serving-certs';

/** The name of the Secret with the key pair, in every namespace. */
export const SECRET = 'webhook-server-cert';

const tlsVolume: Volume = { name: 'tls', secret: { secretName: SECRET } };
const mountedAt = (mountPath: string) => ({ volumeMounts: [{ name: 'tls', mountPath }] });
const image = (name: string): string => `registry.example.com/acme/${name}:1.0`;
const derivedPath = (name: string): string => `/validate-${name}-example-com-v1-order`;

/** A `main` that reads its flags and serves one webhook; `register` is the code that registers it. */
function main(options: string, register: string, imports: string[] = []): string {
  const all = ['flag', 'log', ...imports].map((path) => `\t"${path}"`).join('\n');
  return `package main

import (
${all}

	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	var options ctrl.Options
${options}
	flag.Parse()
	manager, err := ctrl.NewManager(options)
	if err != nil {
		log.Fatal(err)
	}
	${register}
	log.Fatal(manager.Start())
}
`;
}

const TOOL = 'package main\n\nfunc main() { println("a tool") }\n';

/** A chart, a small main package beside a tool, and neither a Dockerfile nor a Makefile with a recipe. */
const chart: Layout = {
  name: 'chart',
  startIn: '.',
  main: { module: '.', package: './cmd/chart' },
  webhook: { path: derivedPath('chart'), port: 10250 },
  files: {
    'go.mod': goMod('example.com/acme/chart', ...WITH_RUNTIME),
    'cmd/chart/main.go':
      'package main\n\nimport "example.com/acme/chart/internal/app"\n\nfunc main() { app.Run() }\n',
    'cmd/chartctl/main.go': TOOL,
    'internal/app/app.go': main(
      '\tflag.StringVar(&options.CertDir, "webhook-certificate-dir", "/certs", "")\n\tflag.IntVar(&options.Port, "webhook-port", 9443, "")\n\tflag.BoolVar(&options.LeaderElection, "leader-elect", true, "")',
      'ctrl.NewWebhookManagedBy(manager, v1.Group, "v1", "Order", Answer)',
    )
      .replace('package main', 'package app')
      .replace('func main()', '// Run runs the manager.\nfunc Run()')
      .replace('\tctrl "', '\tv1 "example.com/acme/chart/pkg/apis/v1"\n\tctrl "'),
    [`internal/app/${ANSWER}`]: answerFile('app'),
    'pkg/apis/v1/doc.go': groupFile('chart.example.com'),
    'charts/chart/Chart.yaml': 'apiVersion: v2\nname: chart\nversion: 1.0.0\n',
    'charts/chart/values.yaml': 'webhookPort: 10250\n',
    'charts/chart/templates/deployment.yaml':
      'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ include "chart.name" . }}\n{{- with .Values.labels }}\n  labels: {{- toYaml . | nindent 4 }}\n{{- end }}\nspec: {{ .Values.spec | toYaml | nindent 2 }}\n',
  },
  container: {
    name: 'chart',
    image: image('chart'),
    args: ['--leader-elect=true', '--webhook-certificate-dir=/tls', '--webhook-port=10250'],
    ports: [{ name: 'webhook', containerPort: 10250 }],
    ...mountedAt('/tls'),
  },
  volumes: [tlsVolume],
};

/** Plain manifests, and a web server without an operator library. */
const manifests: Layout = {
  name: 'manifests',
  startIn: '.',
  main: { module: '.', package: './cmd/server' },
  webhook: { path: '/orders/validate', port: 8443 },
  files: {
    'go.mod': goMod('example.com/acme/manifests'),
    'cmd/server/main.go': `package main

import (
	"encoding/json"
	"flag"
	"log"
	"net/http"
)

func main() {
	certificate := flag.String("tls-cert-file", "cert.pem", "")
	key := flag.String("tls-private-key-file", "key.pem", "")
	flag.Parse()
	http.HandleFunc("/orders/validate", func(response http.ResponseWriter, request *http.Request) {
		var review map[string]any
		if json.NewDecoder(request.Body).Decode(&review) != nil {
			http.Error(response, "no review", http.StatusBadRequest)
			return
		}
		asked, _ := review["request"].(map[string]any)
		review["response"] = map[string]any{"uid": asked["uid"], "allowed": false, "status": map[string]any{"message": Answer}}
		delete(review, "request")
		_ = json.NewEncoder(response).Encode(review)
	})
	log.Fatal(http.ListenAndServeTLS(":8443", *certificate, *key, nil))
}
`,
    [`cmd/server/${ANSWER}`]: answerFile('main'),
    'cmd/installer/main.go': TOOL,
    Dockerfile:
      'FROM golang AS build\nRUN go build -o /out/order-server ./cmd/server\nRUN go build -o /out/installer ./cmd/installer\nFROM scratch\nCOPY --from=build /out /\nENTRYPOINT ["/order-server"]\n',
    'deploy/server.yaml':
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: manifests, namespace: manifests}\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: manifests}\nwebhooks:\n- clientConfig:\n    service:\n      path: /orders/validate\n',
  },
  container: {
    name: 'server',
    image: image('manifests'),
    args: ['-tls-cert-file=/etc/tls/tls.crt', '-tls-private-key-file=/etc/tls/tls.key'],
    ...mountedAt('/etc/tls'),
  },
  volumes: [tlsVolume],
};

/** The Operator Lifecycle Manager creates the Secret, and mounts it twice. The program looks in the second directory, for other names. */
const bundle: Layout = {
  name: 'bundle',
  startIn: '.',
  main: { module: '.', package: './cmd' },
  webhook: { path: '/validate-bundle', port: 9443 },
  files: {
    'go.mod': goMod('example.com/acme/bundle', ...WITH_RUNTIME),
    PROJECT:
      'layout:\n- go.kubebuilder.io/v4\nplugins:\n  manifests.sdk.operatorframework.io/v2: {}\nprojectName: bundle\n',
    'cmd/main.go': main(
      '\toptions.CertDir = "/apiserver.local.config/certificates"\n\toptions.CertName, options.KeyName = "apiserver.crt", "apiserver.key"\n\tflag.BoolVar(&options.LeaderElection, "leader-elect", false, "")',
      'manager.Register("/validate-bundle", webhook.Answer)',
      ['example.com/acme/bundle/internal/webhook'],
    ),
    [`internal/webhook/${ANSWER}`]: answerFile('webhook').replace(
      '// Answer',
      '// +kubebuilder:webhook:path=/validate-bundle,mutating=false,failurePolicy=fail\n\n// Answer',
    ),
    Dockerfile: 'RUN go build -a -o manager cmd/main.go\nENTRYPOINT ["/manager"]\n',
    'bundle/manifests/bundle.clusterserviceversion.yaml':
      'apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: bundle.v1.0.0}\nspec:\n  webhookdefinitions:\n  - type: ValidatingAdmissionWebhook\n    webhookPath: /validate-bundle\n',
  },
  container: {
    name: 'manager',
    image: image('bundle'),
    command: ['/manager'],
    args: ['--leader-elect'],
    volumeMounts: [
      { name: 'apiservice-cert', mountPath: '/apiserver.local.config/certificates' },
      { name: 'webhook-cert', mountPath: CERTIFICATES },
    ],
  },
  volumes: ['apiserver', 'tls'].map((file) => ({
    name: file === 'tls' ? 'webhook-cert' : 'apiservice-cert',
    secret: {
      secretName: SECRET,
      items: [
        { key: 'tls.crt', path: `${file}.crt` },
        { key: 'tls.key', path: `${file}.key` },
      ],
    },
  })),
};

/** The operator and its API types are in two modules, and only the API module says which group the types belong to. */
function twoModules(name: string, replaced: string[]): Record<string, string> {
  const base = `example.com/acme/${name}`;
  return {
    'operator/go.mod': goMod(`${base}/operator`, ...WITH_RUNTIME, ...replaced),
    'operator/cmd/main.go': main(
      '\tflag.StringVar(&options.CertDir, "webhook-cert-path", "", "")\n\tflag.BoolVar(&options.LeaderElection, "leader-elect", false, "")',
      'ctrl.NewWebhookManagedBy(manager, v1.Group, "v1", "Order", v1.Answer)',
    ).replace('\tctrl "', `\tv1 "${base}/api/v1"\n\tctrl "`),
    'operator/Dockerfile': 'RUN go build -o manager ./cmd\nENTRYPOINT ["/manager"]\n',
    'api/go.mod': goMod(`${base}/api`),
    'api/v1/groupversion_info.go': groupFile(`${name}.example.com`),
    [`api/v1/${ANSWER}`]: answerFile('v1'),
    'tools/go.mod': goMod(`${base}/tools`),
    'tools/main.go': TOOL,
  };
}

function twoModulesContainer(name: string): Container {
  return {
    name: 'manager',
    image: image(name),
    command: ['/manager'],
    args: ['--leader-elect', `--webhook-cert-path=${CERTIFICATES}`],
    ...mountedAt(CERTIFICATES),
  };
}

/** A repository with several modules; devloop runs in the operator's module. */
const modules: Layout = {
  name: 'modules',
  startIn: 'operator',
  main: { module: 'operator', package: './cmd' },
  webhook: { path: derivedPath('modules'), port: 9443 },
  files: twoModules('modules', [
    'require example.com/acme/modules/api v0.0.0',
    'replace example.com/acme/modules/api => ../api',
  ]),
  container: twoModulesContainer('modules'),
  volumes: [tlsVolume],
};

/** With a go.work: devloop runs at the root of the repository, which is in no module. */
const workspace: Layout = {
  ...modules,
  name: 'workspace',
  startIn: '.',
  webhook: { path: derivedPath('workspace'), port: 9443 },
  files: { ...twoModules('workspace', []), 'go.work': 'go 1.24\n\nuse (\n\t./operator\n\t./api\n)\n' },
  container: twoModulesContainer('workspace'),
};

/** kubebuilder v2: main.go at the root, kube-rbac-proxy in front of the metrics, and the flags of controller-runtime 0.6. */
const rootMain: Layout = {
  name: 'rootmain',
  startIn: '.',
  main: { module: '.', package: '.' },
  webhook: { path: '/validate-rootmain-example-com-v1-order', port: 9443 },
  files: {
    'go.mod': goMod('example.com/acme/rootmain', ...WITH_RUNTIME),
    PROJECT: 'domain: example.com\nrepo: example.com/acme/rootmain\nversion: "2"\n',
    'main.go': main(
      '\tflag.StringVar(&options.MetricsBindAddress, "metrics-addr", ":8080", "")\n\tflag.BoolVar(&options.LeaderElection, "enable-leader-election", false, "")',
      'manager.Register("/validate-rootmain-example-com-v1-order", v1.Answer)',
      ['example.com/acme/rootmain/api/v1'],
    ),
    'api/v1/groupversion_info.go': groupFile('rootmain.example.com'),
    [`api/v1/${ANSWER}`]: answerFile('v1'),
    Dockerfile: 'RUN CGO_ENABLED=0 GO111MODULE=on go build -a -o manager main.go\nENTRYPOINT ["/manager"]\n',
    Makefile: 'manager: generate fmt vet\n\tgo build -o bin/manager main.go\n',
    'hack/gen/main.go': TOOL,
  },
  sidecars: [
    {
      name: 'kube-rbac-proxy',
      image: 'gcr.io/kubebuilder/kube-rbac-proxy:v0.5.0',
      args: ['--secure-listen-address=0.0.0.0:8443', '--upstream=http://127.0.0.1:8080/'],
      ports: [{ name: 'https', containerPort: 8443 }],
    },
  ],
  container: {
    name: 'manager',
    image: image('rootmain'),
    command: ['/manager'],
    args: ['--metrics-addr=127.0.0.1:8080', '--enable-leader-election'],
    ports: [{ name: 'webhook-server', containerPort: 9443 }],
    ...mountedAt(CERTIFICATES),
  },
  volumes: [tlsVolume],
};

/** operator-sdk v0: cmd/manager, pkg/apis, deploy/ and build/Dockerfile. */
const sdk: Layout = {
  name: 'sdkv0',
  startIn: '.',
  main: { module: '.', package: './cmd/manager' },
  webhook: { path: '/validate-sdkv0', port: 9876 },
  files: {
    'go.mod': goMod('example.com/acme/sdkv0', ...WITH_RUNTIME),
    'cmd/manager/main.go': main(
      '\toptions.Port = 9876\n\tif os.Getenv("OPERATOR_NAME") == "" {\n\t\tlog.Fatal("OPERATOR_NAME must be set")\n\t}\n\tif _, found := os.LookupEnv("WATCH_NAMESPACE"); !found {\n\t\tlog.Fatal("WATCH_NAMESPACE must be set")\n\t}',
      'manager.Register("/validate-sdkv0", hooks.Answer)',
      ['os', 'example.com/acme/sdkv0/pkg/hooks'],
    ),
    'cmd/bench/main.go': TOOL,
    [`pkg/hooks/${ANSWER}`]: answerFile('hooks'),
    'pkg/apis/shop/v1/doc.go': groupFile('sdkv0.example.com'),
    'build/Dockerfile':
      'FROM registry.example.com/minimal\nENV OPERATOR=/usr/local/bin/sdkv0\nCOPY build/_output/bin/sdkv0 $OPERATOR\nENTRYPOINT ["/usr/local/bin/entrypoint"]\n',
    'deploy/operator.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: sdkv0}\n',
  },
  container: {
    name: 'sdkv0',
    image: image('sdkv0'),
    command: ['/usr/local/bin/sdkv0'],
    env: [
      { name: 'WATCH_NAMESPACE', value: '' },
      { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'OPERATOR_NAME', value: 'sdkv0' },
    ],
    ...mountedAt(CERTIFICATES),
  },
  volumes: [tlsVolume],
};

/** Like Knative: ko builds the images, and several programs of the module are deployed. */
const knative: Layout = {
  name: 'knative',
  startIn: '.',
  main: { module: '.', package: './cmd/webhook' },
  webhook: { path: '/resource-validation', port: 8443 },
  files: {
    'go.mod': goMod('example.com/acme/knative', ...WITH_RUNTIME),
    'cmd/webhook/main.go': main('\toptions.Port = 8443', 'manager.Register("/resource-validation", Answer)'),
    [`cmd/webhook/${ANSWER}`]: answerFile('main'),
    'cmd/controller/main.go': main('\toptions.Port = 8444', 'manager.Register("/unused", "unused")'),
    'config/webhook.yaml':
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: knative, namespace: knative}\nspec:\n  template:\n    spec:\n      containers:\n      - name: webhook\n        image: ko://example.com/acme/knative/cmd/webhook\n',
    'config/webhooks.yaml':
      'apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: knative}\nwebhooks:\n- clientConfig:\n    service:\n      path: /resource-validation\n',
  },
  container: {
    name: 'webhook',
    image: `${image('webhook-0123456789abcdef')}`,
    ports: [{ name: 'https-webhook', containerPort: 8443 }],
    ...mountedAt(CERTIFICATES),
  },
  volumes: [tlsVolume],
};

export const LAYOUTS = [chart, manifests, bundle, modules, workspace, rootMain, sdk, knative].map(
  (layout): [string, Layout] => [layout.name, layout],
);
