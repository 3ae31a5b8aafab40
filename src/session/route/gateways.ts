import type { ClusterApi } from '../../cluster/api/client.ts';
import { DevloopError } from '../../errors.ts';
import { type Gateway, type GatewayOptions, type OuterGate, startGateway } from '../../gateway/gateway.ts';
import type { ReviewHooks } from '../../gateway/hooks.ts';
import type { OwnAnswers } from '../../gateway/own.ts';
import type { CalledPath, PostReview } from '../../gateway/unserved-paths.ts';
import { within } from '../../machine/addresses.ts';
import { type Target, targetPorts } from '../../operator/target.ts';
import type { Emit } from '../../report/events.ts';
import { isOwn } from '../../route/direct.ts';
import { takenObjects } from '../context/holders.ts';
import { consequences, ownWrites } from './own-answers.ts';
import { pathsOf } from './paths.ts';

/** The gateways of one session: one for each port of the manager's Pod that the webhook Services use. */
export interface Gateways extends Together, AsyncDisposable {
  /** The gateways' ports on this machine. */
  readonly ports: number[];
  /** The gateway's port for the first port of the first Service. */
  readonly firstPort: number;
  /** The gateway's port for a port of the Pod. */
  portFor(targetPort: number): number;
  /** The port of the Pod for a gateway's port. */
  targetFor(port: number): number | undefined;
  /** Makes the gateways refuse reviews on exactly these paths, because the controller does not serve them. */
  refuse(called: CalledPath[]): void;
  /** Makes reviews on exactly these paths wait while the controller is asked whether it serves them. */
  ask(called: CalledPath[]): void;
  /** Posts to the controller, over the connections of the gateway that forwards such reviews. */
  post: PostReview;
  /** Some of the addresses that were not allowed to connect. */
  readonly keptOut: string[];
  /** The number of reviews that are waiting. */
  readonly held: number;
}

/** What is done to all gateways at once; see `Gateway`. */
interface Together
  extends OuterGate,
    Pick<Gateway, 'present' | 'presentOnly' | 'closeAfterNextAnswer' | 'drain'> {
  /** Until this is disposed, devloop answers reviews of what Kubernetes does because devloop pauses or resumes the manager. */
  answerConsequences(others?: OwnAnswers['others']): Disposable;
  /** Makes the gateways accept reviews on these paths only. At first, these are the paths of the target's calls, and /convert. */
  accept(paths: Iterable<string>): void;
}

/** Who is allowed to connect, and where. */
export interface GatewaySettings {
  port?: number;
  /** The networks that are allowed to connect to this machine, or to the SSH host; empty or absent: all. */
  allowFrom?: string[];
  /** Further accounts whose changes devloop answers for while it pauses and restores the manager. */
  trustAccounts?: string[];
}

/** What the gateways need to know about the session. */
export interface GatewayPlan {
  api: ClusterApi;
  target: Pick<Target, 'services' | 'apis' | 'manager' | 'reconcilers'>;
  sessionId: string;
  settings: GatewaySettings;
  /** What the session does with each review. */
  hooks?: ReviewHooks;
  /** Ports of the Pod, each with the port on which the controller listens instead. */
  moved?: ReadonlyMap<number, number>;
  emit: Emit;
}

/**
 * Listens on the address that the cluster calls, or on all addresses if this machine does not have that one (NAT). Reviews are held at
 * first.
 */
export async function startGateways(plan: GatewayPlan, address: string): Promise<Gateways> {
  const { target, sessionId, settings, hooks, emit } = plan;
  const host = isOwn(address) ? address : address.includes(':') ? '::' : '0.0.0.0';
  // Behind a tunnel or a relay the gateway's own port is not visible, so any port will do.
  const isHidden = address === LOOPBACK;
  const fixed = isHidden ? undefined : settings.port;
  if (!isHidden) assertPorts(target, settings);
  await using stack = new AsyncDisposableStack();
  const gateways = new Map<number, Gateway>();
  for (const [index, targetPort] of targetPorts(target.services).entries()) {
    const port = fixed === undefined ? 0 : fixed + index;
    const here = plan.moved?.get(targetPort) ?? targetPort;
    const controller = { host: LOOPBACK, port: here, podPort: targetPort };
    const gateway = stack.use(
      await startGateway({
        host,
        port,
        sessionId,
        controller,
        hooks,
        apis: target.apis?.map(({ name }) => name),
        emit,
        ...(isHidden ? {} : whoConnects(settings)),
      }),
    );
    gateway.accept(pathsOf(target));
    gateway.hold();
    gateways.set(targetPort, gateway);
  }
  return together(gateways, plan, stack.move());
}

function together(gateways: Map<number, Gateway>, plan: GatewayPlan, owned: AsyncDisposableStack): Gateways {
  const { target, moved = new Map<number, number>() } = plan;
  const firstTarget = target.services[0]!.ports[0]!.targetPort;
  const all = [...gateways.values()];
  const portFor = (targetPort: number): number => gateways.get(targetPort)!.port;
  const pathsOn = (targetPort: number, called: CalledPath[]): string[] =>
    called.filter(({ port }) => port === (moved.get(targetPort) ?? targetPort)).map(({ path }) => path);
  return {
    ports: all.map(({ port }) => port),
    firstPort: portFor(firstTarget),
    portFor,
    targetFor: (port) => [...gateways.keys()].find((targetPort) => portFor(targetPort) === port),
    refuse: (called) => gateways.forEach((gateway, port) => void gateway.refuse(pathsOn(port, called))),
    ask: (called) => gateways.forEach((gateway, port) => void gateway.ask(pathsOn(port, called))),
    async post(to, body, limits) {
      const [, gateway] = [...gateways].find(([port]) => pathsOn(port, [to]).length > 0)!;
      return await postUpTo(gateway, to, body, limits);
    },
    get held() {
      return all.reduce((sum, { held }) => sum + held, 0);
    },
    get keptOut() {
      return all.flatMap(({ keptOut }) => keptOut);
    },
    ...alike(all, plan),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function postUpTo(
  gateway: Gateway,
  { path: url, serverName }: CalledPath,
  body: Buffer,
  { signal, mostBytes }: Parameters<PostReview>[2],
): ReturnType<PostReview> {
  const tooLong = new AbortController();
  let left = mostBytes;
  const arriving = (bytes: number): void => {
    left -= bytes;
    if (left < 0) tooLong.abort();
  };
  const review = { url, body, serverName, arriving };
  return await gateway.post(review, AbortSignal.any([signal, tooLong.signal]));
}

function alike(all: Gateway[], { api, sessionId, emit, target, settings }: GatewayPlan): Together {
  const changes = { api, sessionId, emit, trusted: settings.trustAccounts ?? [] };
  const answer = (own: OwnAnswers): Disposable => disposeAll(all.map((one) => one.answerOwn(own)));
  answer(ownWrites(changes));
  return {
    answerConsequences: (others = 'forward') => answer(consequences(changes, takenObjects(target), others)),
    accept: (paths) => all.forEach((gateway) => void gateway.accept(paths)),
    present: (serverName, pair) => all.forEach((gateway) => void gateway.present(serverName, pair)),
    presentOnly: (serverName, pair) => disposeAll(all.map((one) => one.presentOnly(serverName, pair))),
    hold: (onHalfWaited) => all.forEach((gateway) => void gateway.hold(onHalfWaited)),
    release: () => all.forEach((gateway) => void gateway.release()),
    holdForUser: () => all.forEach((gateway) => void gateway.holdForUser()),
    releaseForUser: () => all.forEach((gateway) => void gateway.releaseForUser()),
    controllerDown: (why, ms) => all.forEach((gateway) => void gateway.controllerDown(why, ms)),
    failFast: (why) => all.forEach((gateway) => void gateway.failFast(why)),
    closeAfterNextAnswer: () => all.forEach((gateway) => void gateway.closeAfterNextAnswer()),
    async drain() {
      await Promise.all(all.map((gateway) => gateway.drain()));
    },
  };
}

function disposeAll(some: Disposable[]): Disposable {
  const stack = new DisposableStack();
  for (const one of some) stack.use(one);
  return stack;
}

const LOOPBACK = '127.0.0.1';

/** Which connections a gateway allows. This is not used behind a tunnel or a relay, where all connections come from this machine. */
function whoConnects({ allowFrom = [] }: GatewaySettings): Pick<GatewayOptions, 'allows' | 'isOpen'> {
  if (allowFrom.length === 0) return { isOpen: true };
  return { allows: within(allowFrom) };
}

const LAST_PORT = 65_535;

/** Throws 'usage.invalid' if there are too few ports from the chosen one up. */
export function assertPorts(target: GatewayPlan['target'], { port: first }: GatewaySettings): void {
  const count = targetPorts(target.services).length;
  const highest = LAST_PORT - count + 1;
  if (first === undefined || first <= highest) return;
  throw new DevloopError(
    'usage.invalid',
    `The webhook Services need ${count} consecutive ports on this machine, but there are too few from ${first} up to the last one, ${LAST_PORT}.`,
    { hint: `Choose a port up to ${highest}: --port ${highest}` },
  );
}
