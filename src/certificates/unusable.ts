import { DevloopError } from '../errors.ts';
import type { Problem } from './inspect.ts';

export interface CertificateSource {
  namespace: string;
  secret: string;
  /** cert-manager's Certificate that the Secret belongs to, if any. */
  certificate?: string;
}

/** One error that lists every problem that makes the certificate unusable; undefined where there is none. */
export function unusable(source: CertificateSource, problems: Problem[]): DevloopError | undefined {
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return undefined;
  const object = `The certificate in Secret ${source.namespace}/${source.secret} is unusable`;
  const message =
    errors.length === 1
      ? `${object}: ${errors[0]?.message}`
      : [`${object}:`, ...errors.map((problem) => `  - ${problem.message}`)].join('\n');
  return new DevloopError('certificate.unusable', message, { hint: nextStep(source) });
}

/** What to do about a Secret whose key pair cannot be used. */
export function nextStep({ namespace, secret, certificate }: CertificateSource): string {
  if (certificate === undefined) {
    return `Find out what created it, and have it created again: kubectl -n ${namespace} describe secret ${secret}`;
  }
  return [
    `Look at cert-manager's status: kubectl -n ${namespace} describe certificate ${certificate}`,
    `and have the certificate reissued: kubectl cert-manager renew -n ${namespace} ${certificate}`,
    `(or, without that plug-in: kubectl -n ${namespace} delete secret ${secret})`,
  ].join('\n');
}
