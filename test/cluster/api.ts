import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';

/** Reads one API path; undefined where there is no such object or no answer yet. */
export type Get = (path: string) => Promise<unknown>;

export interface Api extends Disposable {
  get: Get;
  /** The same, but rejects unless there is an answer with status 200. */
  read(path: string): Promise<unknown>;
}

interface Kubeconfig {
  clusters: { cluster: { server: string; 'certificate-authority-data': string } }[];
  users: { user: { 'client-certificate-data': string; 'client-key-data': string } }[];
}

const requestTimeoutMs = 5_000;

/** The API over a few kept connections: each kubectl would be a process that takes as long to start as the tool under test. */
export async function openApi(kubeconfigFile: string): Promise<Api> {
  const config = JSON.parse(await readFile(kubeconfigFile, 'utf8')) as Kubeconfig;
  const { server, 'certificate-authority-data': ca } = config.clusters[0]!.cluster;
  const user = config.users[0]!.user;
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 4,
    ca: decode(ca),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
  });
  const read = (path: string) => readJson(new URL(path, server), agent);
  return {
    read,
    get: (path) => read(path).catch(() => undefined),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

const decode = (base64: string) => Buffer.from(base64, 'base64');

function readJson(url: URL, agent: Agent): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const call = request(url, { agent, timeout: requestTimeoutMs }, async (response) => {
      try {
        const text = Buffer.concat(await response.toArray()).toString();
        if (response.statusCode === 200) resolve(JSON.parse(text));
        else reject(new Error(`${url.pathname}: ${response.statusCode} ${text}`));
      } catch (error) {
        reject(error);
      }
    });
    call.on('timeout', () =>
      call.destroy(new Error(`${url.pathname}: no answer within ${requestTimeoutMs} ms`)),
    );
    call.on('error', reject);
    call.end();
  });
}
