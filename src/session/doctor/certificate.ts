import { inspect } from '../../certificates/inspect.ts';
import type { ClusterApi } from '../../cluster/api.ts';
import type { TargetService } from '../../cluster/discover.ts';
import { DevloopError } from '../../errors.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { type FoundPair, findKeyPair } from '../certificate.ts';
import { type Check, type Finding, findingOf, NotChecked, standingOn } from './check.ts';
import type { Case, Patient } from './patient.ts';

/** Will kube-apiserver accept the key pair of each webhook Service: names, dates, chain, and every caBundle that is compared with it? */
export function certificateCheck({ opened }: Case, patient: Promise<Patient>): Check {
  return {
    name: 'certificate',
    limitSeconds: 60,
    late: 'certificate.not-found',
    async run() {
      const { target } = await standingOn(patient, 'there is no target');
      if (target.services.length === 0) throw new NotChecked('the target has no webhook Service');
      const named = opened.config.certificates?.secret;
      return await Promise.all(
        target.services.map(async (service) => {
          const told: DevloopEvent[] = [];
          try {
            const found = await findKeyPair(opened.api, target, service, named, (event) => told.push(event));
            const renewal = await renewalOf(opened.api, found);
            return certificateFinding(service, found, { renewal, told, now: new Date() });
          } catch (error) {
            if (error instanceof DevloopError) return findingOf(error, false);
            throw error;
          }
        }),
      );
    },
  };
}

/** When cert-manager will renew it; undefined where it is not cert-manager's, or that may not be read. */
async function renewalOf(api: ClusterApi, { secret }: FoundPair): Promise<Date | undefined> {
  if (secret.certificate === undefined) return undefined;
  const path = `/apis/cert-manager.io/v1/namespaces/${secret.namespace}/certificates/${secret.certificate}`;
  const read = api.call<{ status?: { renewalTime?: string } }>('GET', path).catch(() => undefined);
  const time = (await read)?.status?.renewalTime;
  return time === undefined ? undefined : new Date(time);
}

/** Pure. */
export function certificateFinding(
  service: TargetService,
  { pair, facts, secret }: FoundPair,
  { renewal, told, now }: { renewal: Date | undefined; told: DevloopEvent[]; now: Date },
): Finding {
  const object = `Secret ${secret.namespace}/${secret.name}`;
  const warnings = told.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
  const doubts = [...warnings, ...foreignBundles(service, pair, now), ...overdue(renewal, now)];
  const proof = [
    `for ${facts.names.join(', ')}; from ${facts.notBefore.toISOString()} until ${facts.notAfter.toISOString()}; issuer ${facts.issuer}`,
    ...(renewal === undefined ? [] : [`cert-manager renews it at ${renewal.toISOString()}; up follows that`]),
  ].join('\n');
  if (doubts.length === 0) {
    const bundles = [...new Set(service.calls.map((call) => call.from))].join(', ');
    const trust = bundles === '' ? '' : ` and chains to the caBundle of ${bundles}`;
    return { verdict: 'good', answer: `${object} is valid for ${service.serverName}${trust}`, proof };
  }
  const cure =
    secret.certificate === undefined
      ? `kubectl -n ${secret.namespace} describe secret ${secret.name}`
      : `kubectl -n ${secret.namespace} describe certificate ${secret.certificate}`;
  return { verdict: 'doubtful', answer: doubts.join('\n'), proof, cure };
}

/** The first caBundle was found to fit, so an error is the other's. `up` proves one; a configuration with another one refuses the same certificate, in the cluster too. */
function foreignBundles(service: TargetService, pair: FoundPair['pair'], now: Date): string[] {
  return [...new Map(service.calls.map((call) => [call.from, call.caBundle]))].flatMap(([from, encoded]) => {
    if (encoded === '') return [];
    const caBundle = Buffer.from(encoded, 'base64').toString('utf8');
    const { problems } = inspect(pair, { serverNames: [], caBundle, now });
    const errors = problems.filter(({ severity }) => severity === 'error');
    return errors.map(({ message }) => `${from} will not accept it: ${message}`);
  });
}

function overdue(renewal: Date | undefined, now: Date): string[] {
  return renewal !== undefined && renewal < now
    ? [`cert-manager should have renewed it at ${renewal.toISOString()} and has not`]
    : [];
}
