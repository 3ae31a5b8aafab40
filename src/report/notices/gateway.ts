import { counted, shellWord } from '../../phrases.ts';
import { describe, type ObjectName } from '../object-name.ts';
import { note, warning } from './notice.ts';

/** Who calls the gateway, and what it does not answer or forward. */
export const GATEWAY = {
  /** A client does not trust the certificate that the gateway presents for one of the Services. `alert`: as TLS names it. */
  'gateway.certificate-refused': warning<{ serverName: string; alert: string }>(
    ({ serverName, alert }) => `A client refused the certificate for ${serverName}: ${alert}`,
  ),
  /** A review, or another request to a webhook, got no answer of the controller. */
  'gateway.request-failed': warning<{ path: string; cause: string }>(
    ({ path, cause }) => `POST ${path} failed: ${cause}`,
  ),
  /** Somebody whom devloop does not know changes what it pauses or restores. `isControlPlane`: the account may be one of the control plane. */
  'gateway.unknown-account': warning<{ account: string; isControlPlane: boolean }>(
    ({ account }) =>
      `Account ${JSON.stringify(account)} changes what devloop pauses or restores, but devloop does not know this account, so it does not answer the review in place of the operator.`,
    ({ account, isControlPlane }) =>
      isControlPlane
        ? `If it is an account of the control plane: devloop down --trust-account ${shellWord(account)} (devloop up has the same flag)`
        : undefined,
  ),
  /** How many more reviews came from accounts that devloop does not know, beside those that were named. */
  'gateway.unknown-accounts': warning<{ reviews: number }>(
    ({ reviews }) =>
      `${counted(reviews, 'review')} of other accounts that devloop does not know so far: devloop does not answer them in place of the operator.`,
  ),
  /** The gateway refused connections and requests that were no calls to a webhook of this operator, or came from outside --allow-from. */
  'gateway.strangers': warning<Refused>(strangersText, ({ isOpen }) =>
    isOpen
      ? 'Every host that reaches the port can connect. To let only the control plane connect: --allow-from <its network>'
      : undefined,
  ),
  /** The account may not watch these `callers` of webhooks, so devloop does not see the calls that they add. */
  'webhooks.not-followed': note<{ callers: string; cause: string }>(({ cause }) => `${LATER_CALLS} ${cause}`),
  /** These `callers` of webhooks can no longer be watched, so devloop does not see the calls that they add. */
  'webhooks.lost-track': warning<{ callers: string; cause: string }>(
    ({ cause }) => `${LATER_CALLS} ${cause}`,
  ),
  /** The controller answers 404 on these paths, so devloop refuses their reviews. `next`: what to do beside adding handlers. */
  'webhooks.unserved': warning<{ paths: Unserved[]; next: string }>(
    ({ paths }) => {
      const list = paths.map(({ path, callers }) => `\n  ${path}  (${callers.map(describe).join(', ')})`);
      return `The controller answers 404 on these paths, so devloop refuses their reviews:${list.join('')}`;
    },
    ({ next }) =>
      `If your code does not serve them yet, add their handlers and save: devloop asks again after each restart.\n${next}`,
  ),
};

const LATER_CALLS =
  'Reviews of webhooks that are added while devloop runs are refused until you run devloop up again, because devloop cannot follow changes:';

interface Unserved {
  path: string;
  callers: ObjectName[];
}

interface Refused {
  connections: number;
  requests: number;
  /** Connections from outside --allow-from, and some of their addresses. */
  keptOut: number;
  addresses: string[];
  /** Every host that reaches the port can connect. */
  isOpen: boolean;
}

function strangersText({ connections, requests, keptOut, addresses }: Refused): string {
  const unknown = [
    ...(connections > 0 ? [counted(connections, 'connection')] : []),
    ...(requests > 0 ? [counted(requests, 'request')] : []),
  ].join(' and ');
  const outside = `${counted(keptOut, 'connection')} from outside --allow-from (${addresses.join(', ')})`;
  const all = [
    ...(unknown === '' ? [] : [`${unknown} (no calls to a webhook of this operator)`]),
    ...(keptOut > 0 ? [outside] : []),
  ];
  return `The gateway refused ${all.join(', and ')}.`;
}
