import { readFile } from 'node:fs/promises';
import { Agent, request as httpsRequest } from 'node:https';
import { parseAllDocuments } from 'yaml';

/** Reads one API path; undefined if there is no such object or no answer yet. */
export type Get = (path: string) => Promise<unknown>;

export interface Api extends Disposable {
  get: Get;
  /** Reads one API path; rejects if the object does not exist, or if there is no answer. */
  read(path: string): Promise<unknown>;
  /** Reads a path whose answer is not JSON, such as `/metrics`. */
  text(path: string): Promise<string>;
  /** Rejects with the API server's message if it refuses. The body of a PATCH is a merge patch, or a JSON patch if it is a list. */
  call(method: string, path: string, body?: object): Promise<unknown>;
  /** Does what `kubectl apply --server-side --force-conflicts` does with these objects, or with objects in YAML. */
  apply(objects: object[] | string, manager?: string): Promise<void>;
}

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
}

interface Kubeconfig {
  clusters: { cluster: { server: string; 'certificate-authority-data': string } }[];
  users: { user: { 'client-certificate-data': string; 'client-key-data': string } }[];
}

const requestTimeoutMs = 5_000;
/** A change can wait for a webhook for up to 30 s. */
const changeTimeoutMs = 35_000;

/** Uses the API over a few open connections, because each kubectl would be a process that takes as long to start as the tool under test. */
export async function openApi(kubeconfigFile: string): Promise<Api> {
  const config = JSON.parse(await readFile(kubeconfigFile, 'utf8')) as Kubeconfig;
  const { server, 'certificate-authority-data': ca } = config.clusters[0]!.cluster;
  const user = config.users[0]!.user;
  const options = {
    keepAlive: true,
    ca: decode(ca),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
  };
  // Many objects are read at once, and changes wait for webhooks, so calls must not wait for each other.
  const reads = new Agent({ ...options, maxSockets: 4 });
  const changes = new Agent(options);
  const send = (method: string, path: string, content?: Content) =>
    request(method, new URL(path, server), method === 'GET' ? reads : changes, content);
  const read = async (path: string): Promise<unknown> => JSON.parse(await send('GET', path));
  return {
    read,
    get: (path) => read(path).catch(() => undefined),
    text: (path) => send('GET', path),
    call: async (method, path, body) => JSON.parse(await send(method, path, body && contentOf(method, body))),
    async apply(objects, manager = 'kubectl') {
      for (const one of typeof objects === 'string' ? manifestsIn(objects) : (objects as Manifest[]))
        await send('PATCH', `${pathOf(one)}?fieldManager=${manager}&force=true`, {
          type: 'application/apply-patch+yaml',
          body: JSON.stringify(one),
        });
    },
    [Symbol.dispose]() {
      reads.destroy();
      changes.destroy();
    },
  };
}

const decode = (base64: string) => Buffer.from(base64, 'base64');

function manifestsIn(yaml: string): Manifest[] {
  return parseAllDocuments(yaml).flatMap((document) => (document.toJS() as Manifest | null) ?? []);
}

function pathOf({ apiVersion, kind, metadata: { name, namespace } }: Manifest): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = kind === 'Endpoints' ? 'endpoints' : `${kind.toLowerCase()}s`;
  return `${group}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}/${name}`;
}

interface Content {
  type: string;
  body: string;
}

function contentOf(method: string, body: object): Content {
  const patch = `application/${Array.isArray(body) ? 'json' : 'merge'}-patch+json`;
  return { type: method === 'PATCH' ? patch : 'application/json', body: JSON.stringify(body) };
}

function request(method: string, url: URL, agent: Agent, content?: Content): Promise<string> {
  const headers = content && {
    'content-type': content.type,
    'content-length': Buffer.byteLength(content.body),
  };
  const timeout = method === 'GET' ? requestTimeoutMs : changeTimeoutMs;
  return new Promise((resolve, reject) => {
    const call = httpsRequest(
      url,
      { agent, timeout, method, ...(headers && { headers }) },
      async (response) => {
        try {
          const text = Buffer.concat(await response.toArray()).toString();
          if (response.statusCode! < 300) resolve(text);
          else reject(new Error(`${method} ${url.pathname}: ${response.statusCode} ${text}`));
        } catch (error) {
          reject(error);
        }
      },
    );
    call.on('timeout', () =>
      call.destroy(new Error(`${method} ${url.pathname}: no answer within ${timeout} ms`)),
    );
    call.on('error', reject);
    call.end(content?.body);
  });
}
