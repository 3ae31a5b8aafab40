import { shellWord } from '../../phrases.ts';
import { describe, type ObjectName } from '../object-name.ts';
import { note, warning } from './notice.ts';

/** How the manager is paused, and what is paused with it or may undo that. */
export const PAUSE = {
  /** The manager keeps running, because the user wants that. */
  'pause.none': warning<{ manager: ObjectName }>(
    ({ manager }) =>
      `${describe(manager)} is not paused (pause: none), so it works on the same objects as the controller here. ${STAYS_UP}`,
  ),
  /** devloop holds the Leases with which the manager elects its leader. */
  'pause.by-lease': warning<{ manager: ObjectName }>(
    ({ manager }) => `${describe(manager)} is paused by its Lease. ${STAYS_UP}`,
  ),
  /** Somebody else took a Lease that devloop holds in place of the manager's leader. */
  'pause.lease-taken': warning<{ lease: ObjectName; holder: string }>(
    ({ lease, holder }) =>
      `${describe(lease)} is now held by ${holder}. If ${holder} does not renew it, devloop takes it again; otherwise this session ends.`,
  ),
  /** A Lease that devloop holds in place of the manager's leader could not be renewed. devloop keeps trying. */
  'pause.lease-not-renewed': warning<{ lease: ObjectName; cause: string }>(
    ({ lease, cause }) => `Renewing ${describe(lease)} failed: ${cause}`,
  ),
  /** Another object may bring the manager's Pods back during the session: its owner, an autoscaler, or OLM (a ClusterServiceVersion). */
  'pause.may-be-undone': note<{ manager: ObjectName; by: ObjectName }>(({ manager, by }) => {
    const what = describe(manager);
    if (by.kind === 'ClusterServiceVersion')
      return `${what} is installed by OLM (${describe(by)}). It stays paused until OLM installs it again, for example for an upgrade.`;
    if (by.kind === 'HorizontalPodAutoscaler')
      return `${describe(by)} can scale ${what} from 0. If it does, set its minReplicas to 1${OR_LEASE}`;
    return `${describe(by)} controls ${what} and may resume it. If it does, pause the operator of ${describe(by)}${OR_LEASE}`;
  }),
  /** devloop pauses something beside the manager, because it would overwrite devloop's changes or the user asked for it. */
  'pause.also': note<Suspected>(
    (suspected) =>
      `${whySuspected(suspected)}\ndevloop pauses it, too; \`--pause none\` and \`--pause lease\` leave it running.`,
  ),
  /** In a dry run: `up` would ask for the user's agreement first. `facts`: what it would show. `flags`: those that agree. */
  'consent.would-ask': note<{ facts: string; flags: string }>(
    ({ facts, flags }) => `devloop up would ask first:\n${facts}\nTo agree without being asked: ${flags}`,
  ),
  /** The controller may read its own Pod, but the stand-in for it cannot be created. `lacking`: the permissions that the account has not. */
  'stand-in.missing': warning<{ pod: ObjectName; cause?: string; lacking?: Lacking }>(
    ({ pod, cause, lacking }) =>
      `${describe(pod)}, which the controller may read as its own, cannot be created, so the controller may fail: ${lacking ? lackingText(lacking) : cause}`,
  ),
};

const STAYS_UP =
  'Its Pods stay up, and kube-apiserver can keep calling them over connections that are already open.';

/** This applies only to a manager that elects a leader, which many webhook servers do not. */
const OR_LEASE = ', or, if the manager elects a leader, hold its Lease: `devloop up --pause lease`';

interface Suspected {
  ref: ObjectName;
  /** What it seems to have written, and the writer that managedFields names. */
  evidence?: { wrote: ObjectName; writer: string };
  /** Where the user has named it. */
  namedIn?: string;
}

/** Names who could have forged it, because the user has to judge the evidence. */
export function whySuspected({ ref, evidence, namedIn }: Suspected): string {
  if (evidence === undefined) return `${namedIn ?? 'You'} asked to pause ${describe(ref)}, too.`;
  const { wrote, writer } = evidence;
  return [
    `${describe(ref)} seems to have written ${describe(wrote)} (managedFields: ${shellWord(writer)}), and would then overwrite what devloop changes there.`,
    `Whoever is allowed to change ${describe(wrote)} can have made that up.`,
  ].join(' ');
}

interface Lacking {
  verbs: string[];
  resource: string;
}

function lackingText({ verbs, resource }: Lacking): string {
  return `your account is not allowed to ${verbs.join(' and ')} ${resource}.`;
}
