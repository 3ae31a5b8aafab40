import { createWarner } from '../../async.ts';
import { refOf } from '../../cluster/api/kinds.ts';
import { isSelectorless } from '../../cluster/marks/selector.ts';
import type { HeldLease, Holder, LeaseState } from '../../cluster/takeover/lease.ts';
import type { Work } from '../../cluster/work.ts';
import { DevloopError } from '../../errors.ts';
import type { Target } from '../../operator/target.ts';
import type { Emit } from '../../report/events.ts';
import type { Route } from '../../route/route.ts';
import { describeTarget, targetsOf } from '../context/holders.ts';
import { type Facts, healthOf } from '../context/observed.ts';
import { goneWithNamespace } from '../guard/causes.ts';
import type { Session } from './session.ts';

/** The Leases of a session: they show who is using the operator, over which route, and how the session is doing. */
export interface SessionLeases extends AsyncDisposable {
  /** Creates the Leases, and keeps renewing them. `onLost` runs when somebody else takes or deletes one. */
  hold(session: Session, work: Work, onLost: (error: DevloopError) => void): Promise<void>;
  /** Renews the Leases, unless they were created just now. When this resolves, `onLost` has run for each that is lost. */
  renew(): Promise<void>;
  /** Called after each event, to write the session's health, as whom its controller works, and its faults, if that has changed. */
  observe(): void;
  announce(route: Route): Promise<void>;
  /** The worst of all, so that somebody else cannot write at the same time; 'held' if there are none. */
  state(): LeaseState | 'ended';
  /** Called before the Leases are deleted. */
  end(): void;
}

/** A Lease that was created this recently is not renewed. A renewal gains nothing: somebody could also take the Lease right after it. */
const JUST_HELD_MS = 1_000;

/** `faults`: how many can still be met. */
export function createSessionLeases(
  target: Target,
  facts: Pick<Facts, 'now'>,
  faults: () => number = () => 0,
): SessionLeases {
  const held = new AsyncDisposableStack();
  const leases: HeldLease[] = [];
  const losses: Promise<void>[] = [];
  const shownNow = (): Shown => shownOf(facts.now, faults());
  let shown = shownOf(facts.now, 0);
  let heldAt = Number.NEGATIVE_INFINITY;
  let hasEnded = false;
  const update = async (change: Partial<Holder>): Promise<void> => {
    await Promise.all(leases.map((lease) => lease.update(change)));
  };
  return {
    async hold(session, work, onLost) {
      const quiet = { ...work, emit: withoutRepeats(session.io.emit) };
      const holder = holderOf(session);
      for (const { apply } of session.plan.leases) {
        const lease = await apply(quiet, holder);
        heldAt = performance.now();
        if (lease === undefined) continue;
        leases.push(held.use(lease));
        void lease.lost.then((by) => losses.push(whyLost(work, target, by).then(onLost)));
      }
    },
    async renew() {
      if (performance.now() - heldAt < JUST_HELD_MS) return;
      await update({});
      // The caller is about to write, so it waits until every loss is known. Finding out the cause of a loss takes a call.
      await Promise.all(losses);
    },
    observe() {
      const now = shownNow();
      if (KEYS.some((key) => now[key] !== shown[key])) void update(now);
      shown = now;
    },
    end() {
      hasEnded = true;
    },
    state() {
      if (hasEnded) return 'ended';
      const states = leases.map((lease) => lease.state());
      return states.find((one) => one === 'lost') ?? states.find((one) => one === 'outdated') ?? 'held';
    },
    announce: ({ name, via }) => update({ route: `${name} ${via}` }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

const KEYS = ['health', 'account', 'faults'] as const;
type Shown = Pick<Holder, (typeof KEYS)[number]>;

function shownOf(facts: Facts['now'], faults: number): Shown {
  return { health: healthOf(facts), account: facts.account, faults: faults || undefined };
}

/** If one Lease cannot be renewed, none can, so each warning is printed once. */
function withoutRepeats(emit: Emit): Emit {
  const warn = createWarner(emit);
  return (event) => (event.type === 'warning' ? warn(event) : emit(event));
}

/** The error for a lost Lease. When a namespace is deleted, its Leases are often deleted before the objects that the guard watches. */
async function whyLost({ api }: Work, target: Target, by: string): Promise<DevloopError> {
  const [first] = targetsOf(target);
  return (first && (await goneWithNamespace(api, first))) ?? takenOver(target, by);
}

function takenOver(target: Target, by: string): DevloopError {
  const message = `${describeTarget(target)} was taken over by ${by}.`;
  return new DevloopError('session.lost', message, { hint: 'devloop status' });
}

function holderOf({ machine, target, plan, unready }: Session): Holder {
  // Neither a manager without replicas nor a Service without a selector looks taken over when its mark is gone.
  const adopted = target.services.map(({ service }) => service).filter(isSelectorless);
  const before = [...unready, ...adopted.map(({ metadata }) => refOf('Service', metadata))];
  return {
    user: machine.user,
    host: machine.host,
    pid: process.pid,
    processStart: machine.processStart,
    since: new Date().toISOString(),
    route: plan.routes[0]?.name ?? 'none',
    // Named here, because whoever restores the session is not always allowed to see all that the session changes.
    targets: [
      ...targetsOf(target),
      ...plan.webhookTime.flatMap(({ changes }) => changes.map(({ object }) => object)),
    ],
    ...(before.length > 0 && { unready: before }),
    health: 'starting',
  };
}
