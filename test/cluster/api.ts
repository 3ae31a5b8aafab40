import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';

/** Reads one API path; undefined where there is no such object or no answer yet. */
export type Get = (path: string) => Promise<unknown>;

interface Kubeconfig {
  clusters: { cluster: { server: string; 'certificate-authority-data': string } }[];
  users: { user: { 'client-certificate-data': string; 'client-key-data': string } }[];
}

const requestTimeoutMs = 2_000;

/** The API by one kept connection: polling by kubectl would take the cores that the cluster needs to start. */
export async function openApi(kubeconfigFile: string): Promise<Disposable & { get: Get }> {
  const config = JSON.parse(await readFile(kubeconfigFile, 'utf8')) as Kubeconfig;
  const { server, 'certificate-authority-data': ca } = config.clusters[0]!.cluster;
  const user = config.users[0]!.user;
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 1,
    ca: decode(ca),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
  });
  return {
    get: (path) => getJson(new URL(path, server), agent),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

const decode = (base64: string) => Buffer.from(base64, 'base64');

function getJson(url: URL, agent: Agent): Promise<unknown> {
  return new Promise((resolve) => {
    const absent = () => resolve(undefined);
    const call = request(url, { agent, timeout: requestTimeoutMs }, async (response) => {
      try {
        const chunks = await response.toArray();
        resolve(response.statusCode === 200 ? JSON.parse(Buffer.concat(chunks).toString()) : undefined);
      } catch {
        absent();
      }
    });
    call.on('timeout', () => call.destroy());
    call.on('error', absent);
    call.end();
  });
}
