import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Checkout } from '../../../src/checkout/files.ts';
import { checkoutFacts } from '../../../src/languages.ts';

let root: string;
beforeEach(async () => {
  root = join(await mkdtemp(join(tmpdir(), 'devloop-checkout-')), 'shop-operator');
});
afterEach(async () => await rm(dirname(root), { recursive: true, force: true }));

async function writeFiles(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
}

const groupversion = (group: string): string =>
  `// +kubebuilder:object:generate=true\n// +groupName=${group}\npackage v1\n`;
const marker = (path: string): string =>
  `// +kubebuilder:webhook:path=${path},mutating=true,failurePolicy=fail\nfunc (r *Order) Default() {}\n`;

describe('the names', () => {
  it.each([
    ['github.com/acme/shop/operator', ['shop', 'shop-operator']],
    ['github.com/acme/webhook', ['acme-webhook', 'shop-operator']],
  ])('of module %s', async (module, expected) => {
    await writeFiles({ 'go.mod': `module ${module}\n` });
    expect([...(await checkoutFacts(new Checkout(root))).names].sort()).toEqual(expected);
  });

  it('of images that it builds, and not of others', async () => {
    await writeFiles({
      'build/shop-webhook.Dockerfile': 'FROM golang\n',
      Dockerfile: 'FROM golang\n',
      Makefile:
        'IMG ?= registry.example.com/acme/shop-server:latest\nNGINX_IMAGE = nginx:1\nIMAGE_NAME := $(REGISTRY)/shop-$(ARCH)\nTAG = v1\n',
    });
    expect([...(await checkoutFacts(new Checkout(root))).images].sort()).toEqual([
      'shop-server',
      'shop-webhook',
    ]);
  });
});

it.each([
  ['main.py', 'import kopf\n\n@kopf.on.validate("widgets")\ndef check(**_):\n    pass\n', true],
  ['main.py', 'import kopf\n\n@kopf.on.update("widgets")\ndef check(**_):\n    pass\n', false],
  ['src/main.rs', 'use kube::core::admission::{AdmissionReview, DynamicObject};\n', true],
  [
    'src/main/java/Hook.java',
    'class Hook { AdmissionReview review(AdmissionReview review) { return review; } }\n',
    true,
  ],
  ['server.ts', 'const { kind } = review.request;\n', false],
])('knows whether %s has webhooks', async (file, text, expected) => {
  await writeFiles({ [file]: text });
  expect(await checkoutFacts(new Checkout(root))).toMatchObject({
    declaresWebhooks: expected,
    hasSources: true,
  });
});

it.each([
  ['an admission server of its own', 'import admissionv1 "k8s.io/api/admission/v1"\n', true],
  ['what registers webhooks only', 'import v1 "k8s.io/api/admissionregistration/v1"\n', false],
])('%s declares webhooks: %s', async (_name, text, expected) => {
  await writeFiles({ 'go.mod': 'module example.com/shop\n', 'main.go': `package main\n\n${text}` });
  expect((await checkoutFacts(new Checkout(root))).declaresWebhooks).toBe(expected);
});

it('knows paths that the sources join from constant parts', async () => {
  const text =
    'package main\nimport (\n\t"path"\n\t"path/filepath"\n)\nvar a = filepath.Join("/tmp", "cert")\nvar b = path.Join(dir, "/etc", "x")\n';
  await writeFiles({ 'go.mod': 'module example.com/shop\n', 'main.go': text });
  const { paths } = await checkoutFacts(new Checkout(root));
  expect(paths).toContain('/tmp/cert');
  expect(paths).not.toContain('/etc/x');
});

it('knows paths that the sources put together from constants, in whatever files these are', async () => {
  await writeFiles({
    'go.mod': 'module example.com/shop\n',
    'main.go':
      'package main\nimport (\n\t"example.com/shop/paths"\n\t"path/filepath"\n)\nvar key = filepath.Join(paths.TLS, "tls.key")\nvar other = unknown + "/x"\n',
    'paths/a.go': 'package paths\nconst (\n\tTLS = Base + "/tls"\n\tRoots string = TLS + "/roots"\n)\n',
    'paths/b.go': 'package paths\nconst Base = "/var/run/shop"\n',
  });
  const { paths } = await checkoutFacts(new Checkout(root));
  for (const path of ['/tls', '/tls/tls.key', '/tls/roots']) expect(paths).toContain(`/var/run/shop${path}`);
  expect([...paths].filter((path) => path.endsWith('/x'))).toEqual([]);
});

it('knows names of objects that the sources put together from constants, in whatever files these are', async () => {
  await writeFiles({
    'go.mod': 'module example.com/shop\n',
    'main.go':
      'package main\nimport "example.com/shop/names"\nvar lease = names.Config + "-lock"\nvar other = unknown + "-x"\nvar sum = a+"-5"\n',
    'names/a.go': 'package names\nconst (\n\tConfig = Service + "-webhook-config"\n)\n',
    'names/b.go': 'package names\nconst Service = "shop-validator"\n',
    'other/b.go': 'package other\nvar Service string = "bakery"\n',
  });
  const { quoted } = await checkoutFacts(new Checkout(root));
  for (const name of ['shop-validator-webhook-config', 'shop-validator-webhook-config-lock'])
    expect(quoted).toContain(name);
  expect([...quoted].filter((name) => /-x$|-5$|^bakery-/.test(name))).toEqual([]);
});

it.each([
  ['a client of its own', 'config, err := rest.InClusterConfig()\n', true],
  ["an API server's library", 'import "k8s.io/apiserver/pkg/server/options"\n', true],
  ['an API server for metrics', 'import basecmd "sigs.k8s.io/custom-metrics-apiserver/pkg/cmd"\n', true],
  ['another part of that library', 'import "k8s.io/apiserver/pkg/authentication/user"\n', false],
])('%s connects to the cluster as a Pod does: %s', async (_name, text, expected) => {
  await writeFiles({ 'go.mod': 'module example.com/shop\n', 'main.go': `package main\n\n${text}` });
  expect((await checkoutFacts(new Checkout(root))).connectsFromPod).toBe(expected);
});

it.each([
  ['with the standard library', 'path := os.Getenv("KUBECONFIG")\n', true],
  [
    "by client-go's name for it",
    'import "k8s.io/client-go/tools/clientcmd"\nvar path = os.Getenv(clientcmd.RecommendedConfigPathEnvVar)\n',
    true,
  ],
  ['by a flag', 'cli.StringFlag{Name: "kubeconfig", EnvVars: []string{"KUBECONFIG"}}\n', true],
  ['not at all', 'os.Setenv("KUBECONFIG", path)\n', false],
])('sources read KUBECONFIG themselves: %s', async (_name, text, expected) => {
  await writeFiles({ 'go.mod': 'module example.com/shop\n', 'main.go': `package main\n\n${text}` });
  expect((await checkoutFacts(new Checkout(root))).kubeconfigVariable).toBe(expected);
});

describe('the layouts of kubebuilder', () => {
  it.each([
    [
      'v2, v3',
      'api/v1/groupversion_info.go',
      'api/v1/order_webhook.go',
      'layout: go.kubebuilder.io/v3\nprojectName: shop\n',
    ],
    [
      'v3 multigroup',
      'apis/shop/v1/groupversion_info.go',
      'apis/shop/v1/order_webhook.go',
      'multigroup: true\nprojectName: "shop"\n',
    ],
    [
      'v4',
      'api/v1/groupversion_info.go',
      'internal/webhook/v1/order_webhook.go',
      'layout:\n- go.kubebuilder.io/v4\nprojectName: shop\n',
    ],
  ])('%s: group, paths, names', async (_layout, groupFile, webhookFile, project) => {
    await writeFiles({
      PROJECT: project,
      'go.mod': 'module github.com/acme/shop-operator/v2\n\ngo 1.24\n',
      [groupFile]: groupversion('shop.example.com'),
      [webhookFile]: marker('/mutate-shop-example-com-v1-order'),
      'internal/webhook/v1/order_webhook_test.go': marker('/from-a-test'),
    });
    const facts = await checkoutFacts(new Checkout(root));
    expect([...facts.groups]).toEqual(['shop.example.com']);
    expect([...facts.paths]).toEqual(['/mutate-shop-example-com-v1-order']);
    expect([...facts.markerPaths]).toEqual([...facts.paths]);
    expect([...facts.names].sort()).toEqual(['shop', 'shop-operator']);
    expect(facts.declaresWebhooks).toBe(true);
  });
});

it('a marker of a path that nothing serves declares no webhook', async () => {
  const made = '/validate-shop-example-com-v1-order';
  const ofCore = '/mutate--v1-pod';
  const outdated = '/validate-shop-example-com-v1-v1.Order';
  const unversioned = '/validate-orders';
  const markers = [made, ofCore, '/v1/Carts', '/joined/orders', outdated, unversioned];
  await writeFiles({
    'a.go': markers.map(marker).join(''),
    'b.go': 'server.Register("/v1/Carts", h)\nconst base = "/joined"\nconst path = base + "/orders"\n',
  });
  const { markerPaths, paths } = await checkoutFacts(new Checkout(root));
  expect([...markerPaths].sort()).toEqual(['/joined/orders', ofCore, '/v1/Carts', made]);
  expect(paths).toContain(outdated);
});

describe('what a checkout merely contains', () => {
  it('does not belong to it: other CRDs, groups of clients, vendored code, test data', async () => {
    await writeFiles({
      'go.mod': 'module example.com/shop\n',
      'api/v1/groupversion_info.go': groupversion('shop.example.com'),
      'config/crd/external/cert-manager.yaml':
        'kind: CustomResourceDefinition\nspec:\n  group: cert-manager.io\n',
      'test/crds/prometheus.yaml': 'kind: CustomResourceDefinition\nspec:\n  group: monitoring.coreos.com\n',
      'internal/client.go':
        'var gv = schema.GroupVersion{Group: "argoproj.io", Version: "v1"}\nconst Group = "kyverno.io"\n',
      'vendor/cert-manager/types.go': groupversion('cert-manager.io'),
      'testdata/types.go': groupversion('testdata.io'),
      '.cache/types.go': groupversion('cache.io'),
      'test/e2e/types.go': groupversion('e2e.io'),
    });
    expect([...(await checkoutFacts(new Checkout(root))).groups]).toEqual(['shop.example.com']);
  });

  it('as a path in a bundled manifest is only a manifest path, and declares no webhook', async () => {
    await writeFiles({
      'config/bundle.yaml':
        'kind: ValidatingWebhookConfiguration\nwebhooks:\n- clientConfig:\n    service:\n      path: /validate-other-io-v1-thing\n',
    });
    const facts = await checkoutFacts(new Checkout(root));
    expect([...facts.paths]).toEqual([]);
    expect([...facts.manifestPaths]).toEqual(['/validate-other-io-v1-thing']);
    expect(facts.declaresWebhooks).toBe(false);
  });
});

it('takes no name from a directory or module with a common name', async () => {
  root = join(dirname(root), 'operator');
  await writeFiles({ 'go.mod': 'module example.com/controller\n' });
  expect([...(await checkoutFacts(new Checkout(root))).names]).toEqual([]);
});

describe('a module of a repository with several', () => {
  const api = (name: string) => ({
    [`../api/${name}/v1/groupversion_info.go`]: groupversion(`${name}.example.com`),
    [`../api/${name}/v1/webhook.go`]: marker(`/mutate-${name}`),
  });
  const files = {
    '../api/go.mod': 'module example.com/acme/shop/api\n',
    ...api('shop'),
    ...api('neighbour'),
    'main.go': 'package main\n\nimport shopv1 "example.com/acme/shop/api/shop/v1"\n',
  };

  it.each([
    [
      'replace',
      { 'go.mod': 'module example.com/acme/shop/operator\n\nreplace example.com/acme/shop/api => ../api\n' },
    ],
    [
      'a go.work',
      {
        'go.mod': 'module example.com/acme/shop/operator\n',
        '../go.work': 'go 1.24\n\nuse (\n\t./operator // this one\n\t./api\n)\n',
      },
    ],
    [
      'a go.work with single lines',
      {
        'go.mod': 'module example.com/acme/shop/operator\n',
        '../go.work': 'go 1.24\n\nuse ./operator\nuse ./api\n',
      },
    ],
    [
      'a go.work with quotation marks',
      {
        'go.mod': 'module example.com/acme/shop/operator\n',
        '../go.work': 'go 1.24\n\nuse "./operator"\nuse "./api"\n',
      },
    ],
    [
      'replace with quotation marks',
      {
        'go.mod':
          'module example.com/acme/shop/operator\n\nreplace "example.com/acme/shop/api" => "../api"\n',
      },
    ],
  ])('takes over the packages that it imports from the others: %s', async (_, modules) => {
    root = join(dirname(root), 'operator');
    await writeFiles({ ...files, ...modules });
    const facts = await checkoutFacts(new Checkout(root));
    expect([...facts.groups]).toEqual(['shop.example.com']);
    expect(facts.paths).toContain('/mutate-shop');
    expect(facts.paths).not.toContain('/mutate-neighbour');
    expect([...facts.names]).toEqual(['shop']);
    expect(facts.declaresWebhooks).toBe(true);
  });

  it("takes nothing from outside the repository, such as a clone of somebody else's library", async () => {
    await writeFiles({
      '.git/HEAD': '',
      'go.mod': 'module example.com/operator\n\nreplace cert-manager.io/apis => ../clone\n',
      '../clone/v1/groupversion_info.go': groupversion('cert-manager.io'),
      'main.go': 'package main\n\nimport _ "cert-manager.io/apis/v1"\n',
    });
    expect([...(await checkoutFacts(new Checkout(root))).groups]).toEqual([]);
  });
});

it('finds nothing in a directory that does not exist', async () => {
  expect((await checkoutFacts(new Checkout(root))).groups.size).toBe(0);
});

it('the default of a flag is found in another package of the checkout', async () => {
  await writeFiles({
    'go.mod': 'module example.com/shop\n',
    'cmd/main.go':
      'package main\n\nimport "example.com/shop/options"\n\nfunc init() { flag.BoolVar(&on, "leader-elect", options.DefaultLeaderElect, "") }\n',
    'options/options.go': 'package options\n\nconst DefaultLeaderElect = true\n',
  });
  const { flags } = await checkoutFacts(new Checkout(root));
  expect(flags).toMatchObject([{ flag: 'leader-elect', value: true, directory: join(root, 'cmd') }]);
});
