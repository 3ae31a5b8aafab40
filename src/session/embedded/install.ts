import { pollUntil } from '../../async.ts';
import { selfSignedPair } from '../../certificates/self-signed.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { isNotFound, isTransient } from '../../cluster/api/errors.ts';
import { whileAway } from '../../cluster/api/while-away.ts';
import { messageOf } from '../../errors.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { Io } from '../context/options.ts';
import { CRD, calledServices, clientConfigs, type Declared, isBuiltInNamespace } from './declared.ts';
import { type LeftOut, serverNames, toInstall } from './to-install.ts';
import { withoutCalls } from './unanswered.ts';

const ESTABLISHED_MS = 10_000;
const STARTING_MS = 10_000;
const LOOK_EVERY_MS = 50;
const CERTIFICATE_DAYS = 30;
const APPLY = {
  contentType: 'application/apply-patch+yaml',
  query: { fieldManager: 'devloop', force: 'true' },
};

/** What the API server has of the checkout. */
export interface Installation {
  /** Brings what has changed in the manifests to the API server. Returns the names of the objects that it changed there. */
  update(declared: Declared[]): Promise<string[]>;
  /** Leaves out the webhooks that call other Services than these (`namespace/name`), from now on. */
  serveOnly(services: string[]): Promise<void>;
}

/** Not changed while the operator is taken over: its Services point to this machine, and its workload is paused. */
const TAKEN_OVER = new Set(['Namespace', 'Service', 'Deployment', 'StatefulSet', 'DaemonSet']);

/** With a CRD, all objects of its kind would go. */
const STAYS = new Set([...TAKEN_OVER, CRD]);

/** Creates what the manifests of the checkout declare, as `kubectl apply --server-side` would, and says what it leaves out. */
export async function install(
  api: ClusterApi,
  declared: Declared[],
  io: Pick<Io, 'emit' | 'signal'>,
): Promise<Installation> {
  const names = serverNames(declared);
  const pair = names.length > 0 ? await selfSignedPair(names, { days: CERTIFICATE_DAYS }) : undefined;
  const installer = new Installer(api, io);
  const first = toInstall(declared, pair);
  installer.sayOnce(first.leftOut);
  await installer.create(first.objects);
  let before = first.objects.flat();
  let newest = declared;
  let unanswered: ReadonlySet<string> = new Set();
  const installation: Installation = {
    async serveOnly(services) {
      unanswered = new Set(calledServices(before).filter((one) => !services.includes(one)));
      if (unanswered.size > 0) await installation.update(newest);
    },
    async update(declared) {
      newest = declared;
      const services = serverNames(declared).filter((name) => !names.includes(name));
      if (services.length > 0) io.emit(notice('manifests.new-service', { services }));
      names.push(...services);
      const { answered, leftOut: calls } = withoutCalls(declared, unanswered);
      const { objects, leftOut } = toInstall(answered, pair);
      installer.sayOnce([...calls, ...leftOut]);
      const known = new Map(before.map((object) => [keyOf(object), JSON.stringify(object)]));
      const isDue = (object: Declared): boolean => {
        const was = known.get(keyOf(object));
        return was === undefined || (was !== JSON.stringify(object) && !TAKEN_OVER.has(object.kind ?? ''));
      };
      const changed = objects.map((stage) => stage.filter(isDue));
      const now = new Set(objects.flat().map(keyOf));
      const gone = before.filter((one) => !now.has(keyOf(one)) && !STAYS.has(one.kind ?? ''));
      before = objects.flat();
      const written = changed.map((stage) => Promise.all(stage.map((one) => installer.withOwnBundles(one))));
      await installer.create(await Promise.all(written));
      await installer.remove(gone);
      return [...changed.flat(), ...gone].map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    },
  };
  return installation;
}

function keyOf({ apiVersion, kind, metadata: { namespace, name } }: Declared): string {
  return [apiVersion, kind, namespace, name].join(' ');
}

class Installer {
  readonly #api: ClusterApi;
  readonly #io: Pick<Io, 'emit' | 'signal'>;
  readonly #kinds: Kinds;
  readonly #said = new Set<string>();

  constructor(api: ClusterApi, io: Pick<Io, 'emit' | 'signal'>) {
    this.#api = api;
    this.#io = io;
    this.#kinds = new Kinds(api);
  }

  say({ kind = '', metadata: { name } }: Declared, why: string, part?: string): void {
    this.#io.emit(notice('embedded.left-out', { kind, name, why, ...(part && { part }) }));
  }

  sayOnce(leftOut: LeftOut[]): void {
    for (const { object, part, why } of leftOut) {
      const said = `${keyOf(object)} ${why}`;
      if (!this.#said.has(said)) this.say(object, why, part);
      this.#said.add(said);
    }
  }

  /** One stage after the other. */
  async create(stages: Declared[][]): Promise<void> {
    for (const stage of stages) {
      this.#io.signal.throwIfAborted();
      await Promise.all(stage.map((object) => this.#write(object, 'PATCH', object)));
      const crds = stage.filter(({ kind }) => kind === CRD);
      if (crds.length > 0) await this.#kinds.settled(crds, this.#io.signal);
    }
  }

  /** As `kubectl apply` of a manifest without them would, leaves the caBundles that the controller has written. */
  async withOwnBundles(object: Declared): Promise<Declared> {
    const changed = structuredClone(object);
    const configs = clientConfigs([changed]).filter(({ service }) => service !== undefined);
    if (configs.length === 0) return object;
    const path = await this.#kinds.pathOf(object);
    const live = path && (await this.#api.call<Declared>('GET', path).catch(() => undefined));
    const bundles = live ? clientConfigs([live]).map(({ caBundle }) => caBundle) : [];
    const own = bundles.find((caBundle) => caBundle && configs.every((one) => one.caBundle !== caBundle));
    if (own !== undefined) for (const config of configs) config.caBundle = own;
    return changed;
  }

  async remove(objects: Declared[]): Promise<void> {
    await Promise.all(objects.map((object) => this.#write(object, 'DELETE')));
  }

  async #write(object: Declared, method: 'PATCH' | 'DELETE', body?: Declared): Promise<void> {
    const path = await this.#kinds.pathOf(object);
    if (path === undefined)
      return this.say(object, `the API server serves no ${object.kind} of ${object.apiVersion}`);
    const options = method === 'PATCH' ? APPLY : {};
    const write = () => this.#api.call(method, path, body, options);
    const mayPass = method === 'PATCH' ? mayBeStarting(object) : isTransient;
    await whileAway(write, { limitMs: STARTING_MS, signal: this.#io.signal, mayPass }).catch(
      (error: unknown) => {
        this.#io.signal.throwIfAborted();
        if (method === 'PATCH' || !isNotFound(error)) this.say(object, messageOf(error));
      },
    );
  }
}

/** Right after its start, kube-apiserver has neither its own namespaces, such as `default`, nor addresses for Services. */
function mayBeStarting({ metadata: { namespace = 'default' } }: Declared): (error: unknown) => boolean {
  return (error) => isTransient(error) || (isNotFound(error) && isBuiltInNamespace(namespace));
}

interface ResourceList {
  resources: { name: string; kind: string; namespaced: boolean }[];
}

/** Where the API server has the objects of each kind. */
class Kinds {
  #api: Pick<ClusterApi, 'call'>;
  #lists = new Map<string, Promise<ResourceList | undefined>>();

  constructor(api: Pick<ClusterApi, 'call'>) {
    this.#api = api;
  }

  /** Undefined if the kind is not served. */
  async pathOf({
    apiVersion = '',
    kind,
    metadata: { name, namespace = 'default' },
  }: Declared): Promise<string | undefined> {
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    if (!this.#lists.has(root)) this.#lists.set(root, this.#list(root));
    const list = await this.#lists.get(root);
    const found = list?.resources.find((one) => one.kind === kind && !one.name.includes('/'));
    if (found === undefined) return undefined;
    const place = found.namespaced ? ['namespaces', namespace] : [];
    return [root, ...[...place, found.name, name].map(encodeURIComponent)].join('/');
  }

  /** Waits until the API server serves these CRDs. */
  async settled(crds: Declared[], signal: AbortSignal): Promise<void> {
    for (const crd of crds) {
      const path = await this.pathOf(crd);
      const isServed = async (): Promise<boolean> => {
        const { status } = await this.#api.call<Crd>('GET', path!);
        return (status?.conditions ?? []).some((one) => one.type === 'Established' && one.status === 'True');
      };
      const limits = { everyMs: LOOK_EVERY_MS, limitMs: ESTABLISHED_MS, signal };
      if (path) await pollUntil(() => isServed().catch(() => false), limits);
    }
    this.#lists.clear();
  }

  async #list(root: string): Promise<ResourceList | undefined> {
    return await this.#api.call<ResourceList>('GET', root).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  }
}

interface Crd {
  status?: { conditions?: { type: string; status: string }[] };
}
