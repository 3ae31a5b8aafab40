import type { ClusterApi } from '../../cluster/api/client.ts';
import { describe } from '../../cluster/api/kinds.ts';
import { type FoundPair, findKeyPair } from '../../local/key-pairs.ts';
import { distrust } from '../../local/trust.ts';
import type { TargetService } from '../../operator/target.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { type Check, type Finding, findingOf } from './check.ts';
import { targetWithServices } from './run.ts';

/** Will kube-apiserver accept each webhook Service's key pair: names, dates, chain, and every caBundle that trusts it? */
export const certificateCheck: Check = {
  name: 'certificate',
  limitSeconds: 60,
  timeoutCode: 'certificate.not-found',
  async run(run) {
    const { target } = await targetWithServices(run);
    const { api, config } = await run.context;
    const search = { api, target, secretName: config.certificates?.secret };
    return await Promise.all(
      target.services.map(async (service) => {
        const warnings: string[] = [];
        const collect = (event: DevloopEvent): void => {
          if (event.type === 'warning') warnings.push(event.message);
        };
        try {
          const found = await findKeyPair(search, service, collect);
          const renewal = await renewalOf(api, found);
          return certificateFinding(service, found, { renewal, warnings, now: new Date() });
        } catch (error) {
          return findingOf(error);
        }
      }),
    );
  },
};

/** When cert-manager will renew the certificate; undefined if cert-manager does not manage it, or its Certificate cannot be read. */
async function renewalOf(api: ClusterApi, { secret }: FoundPair): Promise<Date | undefined> {
  if (secret.certificate === undefined) return undefined;
  const path = `/apis/cert-manager.io/v1/namespaces/${secret.namespace}/certificates/${secret.certificate}`;
  const read = api.call<{ status?: { renewalTime?: string } }>('GET', path).catch(() => undefined);
  const time = (await read)?.status?.renewalTime;
  return time === undefined ? undefined : new Date(time);
}

export function certificateFinding(
  service: TargetService,
  { pair, facts, secret, issuer }: FoundPair,
  { renewal, warnings, now }: { renewal: Date | undefined; warnings: string[]; now: Date },
): Finding {
  const object = `Secret ${secret.namespace}/${secret.name}`;
  const doubts = [...warnings, ...foreignBundles(service, pair, now), ...overdue(renewal, now)];
  const proof = [
    ...facts.names.map((name) => `for ${name}`),
    `from ${facts.notBefore.toISOString()} until ${facts.notAfter.toISOString()}`,
    `issuer ${facts.issuer}`,
    ...(renewal === undefined ? [] : [`cert-manager renews it at ${renewal.toISOString()}`]),
  ];
  if (doubts.length === 0) {
    const trust = service.calls.length === 0 ? '' : ', and every caller has a caBundle that trusts it';
    const answer = issuer
      ? `The CA in ${object} issues a certificate for the Service${trust}`
      : `${object} is valid for the Service${trust}`;
    return { verdict: 'ok', answer, proof };
  }
  const hint =
    secret.certificate === undefined
      ? `kubectl -n ${secret.namespace} describe secret ${secret.name}`
      : `kubectl -n ${secret.namespace} describe certificate ${secret.certificate}`;
  return { verdict: 'warn', answer: doubts.join('\n'), proof, hint };
}

function foreignBundles(service: TargetService, pair: FoundPair['pair'], now: Date): string[] {
  return distrust(service, pair, now).map(
    ({ caller, why }) => `${describe(caller)} will not trust it: ${why}`,
  );
}

function overdue(renewal: Date | undefined, now: Date): string[] {
  return renewal !== undefined && renewal < now
    ? [`cert-manager should have renewed it at ${renewal.toISOString()} and has not`]
    : [];
}
