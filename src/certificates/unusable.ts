import { DevloopError } from '../errors.ts';
import type { Problem } from './inspect.ts';

export interface CertificateSource {
  namespace: string;
  secret: string;
  /** The Certificate of cert-manager that the Secret belongs to, where there is one. */
  certificate?: string;
}

/** One error with every problem that makes the certificate unusable; undefined where there are only warnings or nothing. */
export function unusable(source: CertificateSource, problems: Problem[]): DevloopError | undefined {
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return undefined;
  const object = `The certificate in Secret ${source.namespace}/${source.secret} cannot be used`;
  const message =
    errors.length === 1
      ? `${object}: ${errors[0]?.message}`
      : [`${object}:`, ...errors.map((problem) => `  - ${problem.message}`)].join('\n');
  return new DevloopError('certificate.unusable', message, { hint: nextStep(source) });
}

/** What to do about a Secret whose key pair cannot be used. */
export function nextStep({ namespace, secret, certificate }: CertificateSource): string {
  if (certificate === undefined) {
    return `See who made it and have it made anew: kubectl -n ${namespace} describe secret ${secret}`;
  }
  return [
    `See what cert-manager says: kubectl -n ${namespace} describe certificate ${certificate}`,
    `and have it issued anew: kubectl cert-manager renew -n ${namespace} ${certificate}`,
    `(or, without that plug-in: kubectl -n ${namespace} delete secret ${secret})`,
  ].join('\n');
}
