import { cp, glob, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cached, hashOf } from '../cluster/cache.ts';
import { run } from '../cluster/run.ts';
import { type Checkout, SAMPLE } from './sample-operator.ts';

interface Scaffold {
  kubebuilder: string;
  package: string;
  /** What its Makefile names. */
  controllerGen: string;
  /** What brings its code to the libraries of the sample, so that they are compiled once. */
  edits: [from: RegExp, to: string][];
}

const MODULE = 'sigs.k8s.io/kubebuilder/v4';
const TODO = '// TODO(user): fill in your validation logic upon object creation.';
const REFUSES = (object: string) =>
  `if ${object}.GetName() == "bad" {\n\t\treturn nil, fmt.Errorf("no guestbook is called bad")\n\t}`;

const SCAFFOLDS = {
  new: {
    ...{ kubebuilder: 'v4.16.0', package: MODULE, controllerGen: 'v0.22.0' },
    edits: [[/^import \(\n\t"context"\n/m, 'import (\n\t"context"\n\t"fmt"\n']],
  },
  /** It leaves [CERTMANAGER] commented out. */
  old: {
    ...{ kubebuilder: 'v4.5.0', package: `${MODULE}/cmd`, controllerGen: 'v0.17.1' },
    edits: [
      [/NewWebhookManagedBy\(mgr\)\.For\((.*)\)\./, 'NewWebhookManagedBy(mgr, $1).'],
      [/WithValidator\(/, 'WithCustomValidator('],
      [/WithDefaulter\(/, 'WithCustomDefaulter('],
    ],
  },
} satisfies Record<string, Scaffold>;

export type ScaffoldName = keyof typeof SCAFFOLDS;

export const WEBHOOK = 'internal/webhook/v1/guestbook_webhook.go';
export const TYPES = 'api/v1/guestbook_types.go';
const GO_ENV = { CGO_ENABLED: '0', GOFLAGS: '' };
const NAMED = ['--group', 'shop', '--version', 'v1', '--kind', 'Guestbook'];

/** A project as kubebuilder leaves it after `create webhook`: without the manifests that controller-gen writes. Its webhook refuses the name `bad`. */
export async function kubebuilderProject(name: ScaffoldName): Promise<Checkout> {
  const made = await scaffolded(SCAFFOLDS[name]);
  const directory = await mkdtemp(join(tmpdir(), 'devloop-kubebuilder-'));
  await cp(join(made, 'guestbook'), directory, { recursive: true });
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}

/** Makes the projects and downloads what they need, on a machine that reaches the internet. */
export async function prepareKubebuilder(log: (line: string) => void): Promise<void> {
  for (const scaffold of Object.values<Scaffold>(SCAFFOLDS)) await scaffolded(scaffold, log);
}

/** The directory of a project; it is made unless an earlier run has made it. */
async function scaffolded(scaffold: Scaffold, log: (line: string) => void = () => {}): Promise<string> {
  const key = await hashOf(SAMPLE, ['go.mod', 'go.sum'], JSON.stringify(scaffold), scaffold.edits.join());
  return await cached('kubebuilder', key, async (part) => {
    log(`making a project with kubebuilder ${scaffold.kubebuilder}`);
    await make(scaffold, part);
  });
}

async function make(scaffold: Scaffold, part: string): Promise<void> {
  const project = join(part, 'guestbook');
  const bin = join(part, 'bin');
  const install = (module: string, version: string) =>
    run('go', ['install', `${module}@${version}`], { env: { GOBIN: bin, ...GO_ENV } });
  await install(scaffold.package, scaffold.kubebuilder);
  const kubebuilder = join(bin, scaffold.package === MODULE ? 'kubebuilder' : 'cmd');
  await mkdir(project);
  const create = (...words: string[]) => run(kubebuilder, words, { cwd: project });
  const own = ['--domain', 'example.com', '--repo', 'example.com/guestbook'];
  await create('init', ...own, '--fetch-deps=false', '--skip-go-version-check');
  await create('create', 'api', ...NAMED, '--resource', '--controller', '--make=false');
  await create('create', 'webhook', ...NAMED, '--defaulting', '--programmatic-validation', '--make=false');
  // Its tests need libraries of their own.
  await rm(join(project, 'test'), { recursive: true, force: true });
  for await (const file of glob('**/*_test.go', { cwd: project })) await rm(join(project, file));
  const modules = await readFile(join(SAMPLE, 'go.mod'), 'utf8');
  await writeFile(join(project, 'go.mod'), modules.replace(/^module .*/m, 'module example.com/guestbook'));
  await cp(join(SAMPLE, 'go.sum'), join(project, 'go.sum'));
  await edit(join(project, WEBHOOK), scaffold.edits);
  // `create api` runs `make generate`, which installs controller-gen.
  await install('sigs.k8s.io/controller-tools/cmd/controller-gen', scaffold.controllerGen);
  await mkdir(join(project, 'bin'));
  await rename(join(bin, 'controller-gen'), join(project, 'bin/controller-gen'));
  const words = ['object:headerFile=hack/boilerplate.go.txt', 'paths=./...'];
  await run(join(project, 'bin/controller-gen'), words, { cwd: project });
  // The tests build it without the internet.
  await run('go', ['build', '-o', join(bin, 'manager'), './cmd'], { cwd: project, env: GO_ENV });
  await rm(bin, { recursive: true });
}

async function edit(file: string, edits: Scaffold['edits']): Promise<void> {
  let text = await readFile(file, 'utf8');
  const object = text.includes('guestbook, ok :=') ? 'guestbook' : 'obj';
  for (const [from, to] of [...edits, [TODO, REFUSES(object)] as const]) text = text.replace(from, to);
  await writeFile(file, text);
}
