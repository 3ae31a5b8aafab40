import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { describe } from '../../report/object-name.ts';
import type { PluginHost } from './credential-plugin.ts';
import { type ApiError, GarbledAnswer, isConflict, isNotFound, undefinedIfForbidden } from './errors.ts';
import { collectionPath, type Kind, type ObjectRef, objectPath } from './kinds.ts';
import type { SelectedContext } from './kubeconfig.ts';
import type { KubeObject, List } from './objects.ts';
import type { OtherAccount } from './other-account.ts';
import type { Forwarder } from './pass-on.ts';
import type { PinnedEntries } from './pinned.ts';
import { type CallOptions, createTransport, type StreamOptions } from './transport.ts';
import { recordWrites, type Write } from './writes.ts';

export type PatchType = 'json' | 'merge';

/**
 * Access to one cluster. Methods reject with ApiError if the server refuses the call, or with another DevloopError if it does not answer.
 */
export interface ClusterApi extends AsyncDisposable {
  readonly context: string;
  readonly server: string;
  readonly namespace: string;
  readonly kubeconfigFiles: string[];
  readonly pinned: PinnedEntries;
  get<T extends KubeObject>(ref: ObjectRef, options?: CallOptions): Promise<T | undefined>;
  list<T extends KubeObject>(kind: Kind, namespace: string | undefined, options?: CallOptions): Promise<T[]>;
  create<T extends KubeObject>(ref: ObjectRef, object: object, options?: CallOptions): Promise<T>;
  replace<T extends KubeObject>(ref: ObjectRef, object: object): Promise<T>;
  patch<T extends KubeObject>(
    ref: ObjectRef,
    type: PatchType,
    patch: unknown,
    options?: CallOptions,
  ): Promise<T>;
  /** Resolves to false when there is no such object, or only one with another uid. */
  remove(ref: ObjectRef, uid?: string): Promise<boolean>;
  /** The writes that the API server has not answered yet. */
  readonly writes: ReadonlySet<Write>;
  /** Any other call. */
  call<T>(
    method: string,
    path: string,
    body?: unknown,
    options?: CallOptions & { contentType?: string },
  ): Promise<T>;
  /**
   * Logs in again if the cluster no longer accepts the credentials, even if devloop would wait before it tries again. Rejects if the cluster
   * still does not accept them.
   */
  logIn(): Promise<void>;
  /** A GET whose answer is read while it arrives, such as that of a watch. */
  openStream(path: string, options: StreamOptions): Promise<AsyncIterable<Buffer>>;
  /** A GET that becomes a WebSocket with the given subprotocol, paused until `resume()`. */
  openWebSocket(path: string, protocol: string, options?: CallOptions): Promise<WebSocket>;
  /** A GET that becomes a raw connection for our own protocol. */
  switchProtocol(path: string, protocol: string, signal: AbortSignal): Promise<Duplex>;
  /** Sends somebody else's request with the user's credentials, and resolves with the answer, whatever its status. */
  forward: Forwarder['forward'];
  forwardUpgrade: Forwarder['forwardUpgrade'];
  /** The same as another account. The connections end when the forwarder is disposed. */
  forwarderAs(account: OtherAccount): Forwarder & Disposable;
}

const PATCH_TYPES = { json: 'application/json-patch+json', merge: 'application/merge-patch+json' } as const;

/** `host`: what a credential plugin can use of devloop's terminal. */
export async function connect(selected: SelectedContext, host: PluginHost = {}): Promise<ClusterApi> {
  const transport = await createTransport(selected, host);
  const send: ClusterApi['call'] = (method, path, body, options = {}) =>
    transport.call(method, path, body, options);
  const { call, writes } = recordWrites(send);
  const { forward, forwardUpgrade, forwarderAs } = transport;
  const get: ClusterApi['get'] = async <T extends KubeObject>(ref: ObjectRef, options: CallOptions = {}) => {
    try {
      return objectIn(await call<T>('GET', objectPath(ref), undefined, options), ref);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // A proxy in front of the API server also answers 404 while it cannot reach the server.
      if (error.reason !== 'NotFound') throw new GarbledAnswer(`"${error.message}" about ${describe(ref)}`);
      return undefined;
    }
  };
  return {
    context: selected.context,
    server: withoutLogin(selected.server),
    namespace: selected.namespace,
    kubeconfigFiles: selected.files,
    pinned: selected.pinned,
    writes,
    call,
    async logIn() {
      transport.retryLogin();
      await call('GET', '/version');
    },
    openStream: (path, options) => transport.openStream(path, options),
    openWebSocket: (path, protocol, options = {}) => transport.openWebSocket(path, protocol, options),
    switchProtocol: (path, protocol, signal) => transport.switchProtocol(path, protocol, signal),
    ...{ forward, forwardUpgrade, forwarderAs },
    get,
    async list<T extends KubeObject>(kind: Kind, namespace: string | undefined, options: CallOptions = {}) {
      return itemsOf(await call<List<T>>('GET', collectionPath(kind, namespace), undefined, options), kind);
    },
    create: async (ref, object, options = {}) =>
      objectIn(await call('POST', collectionPath(ref.kind, ref.namespace), object, options), ref),
    replace: async (ref, object) => objectIn(await call('PUT', objectPath(ref), object), ref),
    patch: async (ref, type, patch, options = {}) =>
      objectIn(
        await call('PATCH', objectPath(ref), patch, { ...options, contentType: PATCH_TYPES[type] }),
        ref,
      ),
    async remove(ref, uid) {
      for (let attempt = 1; ; attempt++) {
        const refusal = await removeOnce(call, ref, uid);
        if (refusal === undefined) return true;
        // A restore relies on the deletion, and the refusal may come from a proxy, or from a server that is just starting.
        if (!(await isThere(get, ref, uid))) return false;
        if (attempt === REMOVE_ATTEMPTS)
          throw new GarbledAnswer(
            `"${refusal.message}" when asked to delete ${describe(ref)}, which still exists`,
          );
      }
    },
    async [Symbol.asyncDispose]() {
      transport.close();
    },
  };
}

const REMOVE_ATTEMPTS = 3;

/** Returns the API server's refusal if there is no such object (404), or one with another uid (409). */
async function removeOnce(
  call: ClusterApi['call'],
  ref: ObjectRef,
  uid?: string,
): Promise<ApiError | undefined> {
  const body = uid === undefined ? {} : { preconditions: { uid } };
  try {
    await call('DELETE', objectPath(ref), { apiVersion: 'v1', kind: 'DeleteOptions', ...body });
    return undefined;
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return error;
    throw error;
  }
}

/** If the account is not allowed to read the object, it counts as gone, since the deletion was refused with 404 or 409. */
async function isThere(get: ClusterApi['get'], ref: ObjectRef, uid?: string): Promise<boolean> {
  const now = await get(ref).catch(undefinedIfForbidden);
  return now !== undefined && (uid === undefined || now.metadata.uid === uid);
}

/** Throws if the answer is about another object. If it counted as "not found", a restore would take the object for deleted. */
function objectIn<T extends KubeObject>(answer: T, ref: ObjectRef): T {
  if (answer.metadata?.name === ref.name) return answer;
  throw new GarbledAnswer(`something that is not ${describe(ref)}: ${excerpt(answer)}`);
}

export function itemsOf<T extends KubeObject>({ items, ...rest }: List<T>, kind: Kind): T[] {
  // Go encodes an empty list as null.
  if (items === null) return [];
  if (Array.isArray(items) && items.every((item) => typeof item?.metadata?.name === 'string')) return items;
  throw new GarbledAnswer(`something that is not a list of ${kind}: ${excerpt({ ...rest, items })}`);
}

function excerpt(answer: unknown): string {
  return JSON.stringify(answer).slice(0, 200);
}

/** A URL can contain a name and a password, which are for the server alone. */
function withoutLogin(server: string): string {
  const url = new URL(server);
  if (url.username === '' && url.password === '') return server;
  return Object.assign(url, { username: '', password: '' }).href.replace(/\/$/, '');
}
