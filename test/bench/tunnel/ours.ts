/** The SSH route as a process of its own. Prints `ports <first> <second>` when they are known, and whenever they change. */
import { sshRoute } from '../../../src/route/ssh/route.ts';

const [to, ...gatewayPorts] = process.argv.slice(2);
const ports = gatewayPorts.map(Number);
const route = await sshRoute({
  to: to!,
  gatewayPorts: ports,
  env: process.env,
  emit() {},
  signal: new AbortController().signal,
});
const tell = (): void => console.log(['ports', ...ports.map((port) => route.portFor(port))].join(' '));
route.onReconnected(tell);
tell();
