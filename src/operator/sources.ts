import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type AddressFlags, collectAddressFlags } from './address-flags.ts';
import { commandNames, type DefinedFlag, kubeconfigFlags } from './cobra-commands.ts';
import { collectNameParts, composedNames, noNameParts } from './composed-names.ts';
import { type ComposedPath, collectComposed, joinedParts, resolveComposed } from './composed-paths.ts';
import {
  collectElectionDefaults,
  type ElectionFlag,
  electionFlags,
  electionVariables,
  noElectionDefaults,
} from './leader-election.ts';
import { importedSources, localModules } from './local-modules.ts';
import { collectPathFlags, type PathFlags } from './path-flags.ts';

/** What the files of a checkout reveal about their operator. */
export interface CheckoutFacts {
  /** API groups that the checkout defines. */
  groups: Set<string>;
  /** Everything in its sources that looks like an absolute path: HTTP paths, and paths of files. */
  paths: Set<string>;
  /** HTTP paths in its manifests, which may belong to another operator that is merely bundled. */
  manifestPaths: Set<string>;
  /** Paths of the webhooks that kubebuilder's markers declare. */
  markerPaths: Set<string>;
  /** Names that the operator may have: project, module, directory. */
  names: Set<string>;
  /** Names of the images that its Dockerfiles and Makefiles build, without registry and tag. */
  images: Set<string>;
  /** Variables that its sources read for the leader election switch. */
  electionVariables: Set<string>;
  electionFlags: ElectionFlag[];
  addressFlags: AddressFlags;
  /** Names of commands in its sources. A command is a word in front of a program's flags. */
  commandNames: Set<string>;
  pathFlags: PathFlags;
  /** Relative paths of files that its sources look for beside their own program. */
  besideProgram: Set<string>;
  /** The definitions of flags that are named --kubeconfig. */
  kubeconfigFlags: DefinedFlag[];
  /** Whether its sources read the variable KUBECONFIG themselves. client-go would read it as a list of files. */
  kubeconfigVariable: boolean;
  /** Whether its sources connect to the cluster as a program in a Pod does. */
  connectsFromPod: boolean;
  /** The setting in its sources with which a TLS server requires client certificates: `ClientCAName: "ca.crt"`. */
  clientCertificates?: string | undefined;
  /** Names of objects that its sources mention, such as the names under which a program registers webhooks. */
  quoted: Set<string>;
  /** Whether the checkout registers or declares webhooks. */
  declaresWebhooks: boolean;
  /** Whether devloop has read any of its sources: it reads only some languages. */
  hasSources: boolean;
  /** The directory in which devloop was started, if it is below the root. */
  startedIn?: string;
}

const SKIPPED_DIRECTORIES = new Set(
  'vendor node_modules bin dist target testdata test tests e2e fixtures third_party hack docs'.split(' '),
);
const MAX_FILES = 8000;
/** Larger files are generated, or data. */
const MAX_BYTES = 400_000;
/** A CRD can be as large as the request that creates it, 3 MiB, and one file can hold several. */
const MAX_MANIFEST_BYTES = 10_000_000;
const AT_ONCE = 32;

/** The facts if there is no checkout. */
export function noCheckoutFacts(): CheckoutFacts {
  return {
    groups: new Set(),
    paths: new Set(),
    manifestPaths: new Set(),
    markerPaths: new Set(),
    names: new Set(),
    images: new Set(),
    electionVariables: new Set(),
    electionFlags: [],
    addressFlags: { defaults: [], constants: new Map(), commands: [] },
    commandNames: new Set(),
    pathFlags: { defaults: [], constants: new Map() },
    besideProgram: new Set(),
    kubeconfigFlags: [],
    kubeconfigVariable: false,
    connectsFromPod: false,
    quoted: new Set(),
    declaresWebhooks: false,
    hasSources: false,
  };
}

/**
 * Reads the sources and YAML manifests below `root` as text: markers, groups and paths are recognised without parsing a language. The API
 * types of an operator can be in a module beside the checkout, of which only the imported packages are read.
 */
export async function readCheckout(root: string): Promise<CheckoutFacts> {
  const facts = noCheckoutFacts();
  const [files, modules] = await Promise.all([sourceFiles(root), localModules(root)]);
  const importing: string[] = [];
  const composed: ComposedPath[] = [];
  const nameParts = noNameParts();
  const elections = noElectionDefaults();
  for (let at = 0; at < files.length; at += AT_ONCE) {
    await Promise.all(
      files.slice(at, at + AT_ONCE).map(async (file) => {
        const text = await readSmall(file);
        collect(text, file, facts);
        if (file.endsWith('.go')) {
          collectComposed(text, composed);
          collectNameParts(text, nameParts);
          collectElectionDefaults(text, dirname(file), elections);
        }
        if (modules.some(({ path }) => text.includes(path))) importing.push(text);
      }),
    );
  }
  for (const text of await importedSources(importing, modules)) collect(text, '.go', facts);
  for (const path of resolveComposed(composed, facts.pathFlags.constants)) facts.paths.add(path);
  takeMarkers(facts);
  for (const name of composedNames(nameParts)) facts.quoted.add(name);
  facts.electionFlags.push(...electionFlags(elections));
  await collectNames(root, facts);
  return facts;
}

/** The Go files below `root` among those that readCheckout reads. */
export async function goSources(root: string): Promise<{ file: string; text: string }[]> {
  const files = (await sourceFiles(root)).filter((file) => file.endsWith('.go'));
  return await Promise.all(files.map(async (file) => ({ file, text: await readSmall(file) })));
}

/** The files below `root` whose names match, except tests, and those that readCheckout skips because of their directory. */
export async function programSources(root: string, pattern: RegExp): Promise<string[]> {
  return await sourceFiles(root, (name) => pattern.test(name));
}

/** The texts of those YAML files below `root` that match; also of files that are too large for readCheckout. */
export async function manifestTexts(root: string, pattern: RegExp): Promise<string[]> {
  return (await manifestFiles(root, pattern)).map(({ text }) => text);
}

/** The same texts with the paths of their files. */
export async function manifestFiles(
  root: string,
  pattern: RegExp,
): Promise<{ file: string; text: string }[]> {
  const files = (await sourceFiles(root)).filter((file) => /\.ya?ml$/.test(file));
  const found: { file: string; text: string }[] = [];
  for (let at = 0; at < files.length; at += AT_ONCE) {
    const some = files.slice(at, at + AT_ONCE);
    const read = some.map(async (file) => ({ file, text: await readSmall(file, MAX_MANIFEST_BYTES) }));
    found.push(...(await Promise.all(read)).filter(({ text }) => pattern.test(text)));
  }
  return found;
}

const isSource = (name: string): boolean => /\.(go|ya?ml|tpl|rs|java|py|ts)$/.test(name) || RECIPE.test(name);

async function sourceFiles(root: string, isWanted = isSource): Promise<string[]> {
  const found: string[] = [];
  const queue = [root];
  for (
    let directory = queue.shift();
    directory !== undefined && found.length < MAX_FILES;
    directory = queue.shift()
  ) {
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = join(directory, entry.name);
      if (entry.isDirectory() && !entry.name.startsWith('.') && !SKIPPED_DIRECTORIES.has(entry.name))
        queue.push(path);
      else if (entry.isFile() && isWanted(entry.name) && !entry.name.endsWith('_test.go')) found.push(path);
    }
  }
  return found;
}

/** The text of a file; empty if the file is too large, or is a pipe or a device, which might be read without end. */
async function readSmall(file: string, maxBytes = MAX_BYTES): Promise<string> {
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  return size === 0 || size > maxBytes ? '' : await readFile(file, 'utf8').catch(() => '');
}

/** Only the marker in a package that defines types counts: an operator's sources also name the groups of many others. */
const GROUP_MARKER = /\+groupName=([\w.-]+)/g;
const SOURCE_PATH = /"(\/[A-Za-z0-9][A-Za-z0-9._/-]{2,150})"/g;
/** Matches `filepath.Join("/tmp", "certs")`. */
const JOINED_PATH = /\b(?:file)?path\.Join\(\s*("\/[^"\n]*"(?:\s*,\s*"[^"\n]*")+)\s*,?\s*\)/g;
/** Matches `filepath.Join(base, "certs", "tls.crt")`, also with a call in place of the variable. */
const BESIDE = /\b(?:file)?path\.Join\(\s*[\w.]+(?:\([^()]*\))?((?:\s*,\s*"[^"\n]*")+)\s*,?\s*\)/g;
const QUOTED_NAME = /"([a-z0-9]+(?:[.-][a-z0-9]+){1,20})"/g;
export const MARKER_PATH = /\+kubebuilder:webhook:[^\n]*\bpath="?([^",\s]+)/g;
const KUBECONFIG_VARIABLE =
  /\b(?:Getenv|LookupEnv)\(\s*(?:"KUBECONFIG"|(?:\w+\.)?RecommendedConfigPathEnvVar)\s*\)|\bEnvVars?:\s*(?:\[\]string\{\s*)?"KUBECONFIG"/;
/** Also matches the libraries of API servers, which connect to the cluster to authenticate their callers. */
const CONNECTS_FROM_POD =
  /\b(?:InClusterConfig|BuildConfigFromFlags)\(|"[\w./-]*(?:k8s\.io\/apiserver\/pkg\/server|apiserver-runtime|(?:metrics-apiserver|generic-admission-server)\/pkg\/)/;
/** controller-runtime's webhook server requires a client certificate if it has the name of a CA. */
const REQUIRES_CERTIFICATE = /\bClientCAName\s*[:=]\s*(?:"[^"\n]+"|[a-z]\w*)/;
const MANIFEST_PATH = /^\s*path:\s*["']?(\/[A-Za-z0-9][A-Za-z0-9._/-]*)/gm;

const RECIPE = /^(?:(?:.+\.)?(?:Docker|Container)file(?:\..+)?|(?:GNUm|m|M)akefile)$/;
/** The variable of the project's own image: other variables name images that it deploys or builds on. */
const IMAGE_VARIABLE =
  /^\s*(?:export\s+)?(?:(?:DOCKER|CONTAINER|OPERATOR|CONTROLLER|MANAGER|WEBHOOK|SERVER)_)?(?:IMG|IMAGE)(?:_(?:NAME|URL|REPO|REPOSITORY))?\s*[:?]{0,2}=\s*(\S+)\s*$/gm;

/** Finds `intel-webhook` in the file name intel-webhook.Dockerfile, and in `IMG ?= registry.example.com/intel-webhook:latest`. */
function collectImages(text: string, name: string, { images }: CheckoutFacts): void {
  const [, before, after] =
    /^(.+)\.(?:Docker|Container)file$|^(?:Docker|Container)file\.(.+)$/.exec(name) ?? [];
  const values = [...text.matchAll(IMAGE_VARIABLE)].map(
    ([, value]) => value!.split('/').pop()!.split(':')[0]!,
  );
  for (const image of [before ?? after ?? '', ...values])
    if (isName(image) && /^[\w.-]+$/.test(image)) images.add(image);
}

function collect(text: string, file: string, facts: CheckoutFacts): void {
  if (RECIPE.test(basename(file))) {
    collectImages(text, basename(file), facts);
    return;
  }
  const all = (pattern: RegExp, into: Set<string>): void => {
    for (const match of text.matchAll(pattern)) if (match[1]) into.add(match[1]);
  };
  if (/\.ya?ml$|\.tpl$/.test(file)) {
    if (/kind:\s*(Validating|Mutating)WebhookConfiguration/.test(text))
      all(MANIFEST_PATH, facts.manifestPaths);
    return;
  }
  facts.hasSources = true;
  all(GROUP_MARKER, facts.groups);
  all(SOURCE_PATH, facts.paths);
  for (const [, parts = ''] of text.matchAll(JOINED_PATH)) facts.paths.add(joinedParts(parts));
  if (text.includes('os.Executable()'))
    for (const [, parts = ''] of text.matchAll(BESIDE)) facts.besideProgram.add(joinedParts(parts));
  all(MARKER_PATH, facts.markerPaths);
  all(QUOTED_NAME, facts.quoted);
  for (const name of electionVariables(text)) facts.electionVariables.add(name);
  collectAddressFlags(text, dirname(file), facts.addressFlags);
  for (const name of commandNames(text)) facts.commandNames.add(name);
  collectPathFlags(text, dirname(file), facts.pathFlags);
  collectConnections(text, file, facts);
  const webhook = file.endsWith('.go') ? GO_WEBHOOK : OTHER_WEBHOOK;
  if (webhook.test(text)) facts.declaresWebhooks = true;
}

const GO_WEBHOOK =
  /\+kubebuilder:webhook:|NewWebhookManagedBy|GetWebhookServer\(\)|"k8s\.io\/api\/admission\//;
/** The objects that kube-apiserver sends, as kube-rs, fabric8 and plain HTTP servers name them, and the decorators of kopf. */
const OTHER_WEBHOOK = /\b(?:Admission|Conversion)Review\b|@kopf\.(?:on\.)?(?:validate|mutate)\b/;

/** The paths that controller-runtime makes from the group, the version and the name of a kind, so that no source names them. */
const MADE_PATH = /^\/(?:mutate|validate)-(?:[a-z0-9-]*-)?v\d[a-z0-9]*-[a-z0-9]+$/;

/** A marker is a comment, and can be out of date: a path that no source names, and that is not made from a kind, declares no webhook. */
function takeMarkers({ markerPaths, paths }: CheckoutFacts): void {
  const outdated = [...markerPaths].filter((path) => !MADE_PATH.test(path) && !paths.has(path));
  for (const path of markerPaths) paths.add(path);
  for (const path of outdated) markerPaths.delete(path);
}

/** Finds out how the checkout's programs connect to the cluster. */
function collectConnections(text: string, file: string, facts: CheckoutFacts): void {
  facts.kubeconfigFlags.push(...kubeconfigFlags(text, dirname(file)));
  if (KUBECONFIG_VARIABLE.test(text)) facts.kubeconfigVariable = true;
  if (CONNECTS_FROM_POD.test(text)) facts.connectsFromPod = true;
  facts.clientCertificates ??= REQUIRES_CERTIFICATE.exec(text)?.[0];
}

/** Common names of directories and modules, and of many things in a cluster: they identify nothing. */
const TOO_COMMON = new Set(
  `operator operators controller controllers manager controller-manager webhook webhooks
  app apps main src code project workspace repo checkout work test demo example
  system default platform service server api core backend kubernetes kube k8s git`.split(/\s+/),
);

async function collectNames(root: string, facts: CheckoutFacts): Promise<void> {
  const project = await readSmall(join(root, 'PROJECT'));
  const module = await readSmall(join(root, 'go.mod'));
  const path = module.match(/^module\s+(\S*?)(?:\/v\d+)?\s*$/m)?.[1]?.split('/') ?? [];
  // In example.com/acme/shop/operator, the operator's name is shop, not the host or the organization. In example.com/shop/webhook, it is
  // shop-webhook.
  const parts = path.length > 2 ? path.slice(2) : path.slice(-1);
  const names = [
    project.match(/^projectName:\s*["']?([\w.-]+)/m)?.[1],
    parts.findLast((part) => isName(part.toLowerCase())) ?? path.slice(1).slice(-2).join('-'),
    basename(root),
  ];
  for (const name of names) {
    const lower = name?.toLowerCase() ?? '';
    if (isName(lower)) facts.names.add(lower);
  }
}

function isName(name: string): boolean {
  return name.length > 2 && !TOO_COMMON.has(name);
}
