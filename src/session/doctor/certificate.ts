import type { ClusterApi } from '../../cluster/api/client.ts';
import type { Kind, ObjectRef } from '../../cluster/api/kinds.ts';
import { type FoundPair, findKeyPair } from '../../local/key-pairs.ts';
import { distrust } from '../../local/trust.ts';
import type { TargetService } from '../../operator/target.ts';
import { shellWord } from '../../phrases.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { describe } from '../../report/object-name.ts';
import { type Check, type Finding, findingOf } from './check.ts';
import { targetWithServices } from './shared-work.ts';

/** Will kube-apiserver accept each webhook Service's key pair (names, dates and chain), and does every caBundle trust it? */
export const certificateCheck: Check = {
  name: 'certificate',
  limitSeconds: 60,
  timeoutCode: 'certificate.not-found',
  async run(run) {
    const { target } = await targetWithServices(run);
    const { api } = await run.context;
    const search = { api, target, secretName: run.settings['certificates.secret'].value };
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
  const distrusting = distrust(service, pair, now);
  const ofCertificate = [...warnings, ...overdue(renewal, now)];
  const foreign = distrusting.map(
    ({ caller, why }) => `kube-apiserver will not trust it for ${describe(caller)}: ${why}`,
  );
  const doubts = [...foreign, ...ofCertificate];
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
  const hints = [
    ...(distrusting.length === 0 ? [] : [trustHint(distrusting, secret)]),
    ...(ofCertificate.length === 0 ? [] : [describeCommand(secret)]),
  ];
  return { verdict: 'warn', answer: doubts.join('\n'), proof, hint: hints.join('\n') };
}

function describeCommand({ namespace, name, certificate }: FoundPair['secret']): string {
  return certificate === undefined
    ? `kubectl -n ${shellWord(namespace)} describe secret ${shellWord(name)}`
    : `kubectl -n ${shellWord(namespace)} describe certificate ${shellWord(certificate)}`;
}

/** How the callers get a caBundle that trusts the key pair of a Secret. */
function trustHint(
  distrusting: { caller: ObjectRef }[],
  { namespace, name, certificate }: FoundPair['secret'],
): string {
  const each = [...new Map(distrusting.map(({ caller }) => [describe(caller), caller])).values()];
  if (certificate !== undefined) {
    const source = `cert-manager.io/inject-ca-from=${namespace}/${certificate}`;
    return [
      "To have cert-manager's cainjector write the CA into the caBundle:",
      ...each.map(
        (one) =>
          `kubectl annotate --overwrite ${one.kind.toLowerCase()} ${shellWord(one.name)} ${shellWord(source)}`,
      ),
    ].join('\n');
  }
  const fields = each.map((one) => `${bundleField(one.kind)} of ${describe(one)}`).join(', ');
  return `Write the CA of Secret ${namespace}/${name} into ${fields}. If the Secret has it:\nkubectl -n ${namespace} get secret ${name} -o jsonpath='{.data.ca\\.crt}'`;
}

function bundleField(kind: Kind): string {
  return kind === 'CustomResourceDefinition'
    ? 'spec.conversion.webhook.clientConfig.caBundle'
    : 'webhooks[*].clientConfig.caBundle';
}

function overdue(renewal: Date | undefined, now: Date): string[] {
  return renewal !== undefined && renewal < now
    ? [`cert-manager should have renewed it at ${renewal.toISOString()} and has not`]
    : [];
}
