/**
 * The TLS options for connections to the controller, a local process. Its certificate is for the name of a Service, so nothing is verified.
 * With an empty list of authorities, Node does not load its own 150, which would take ten milliseconds while reviews wait.
 */
export const UNVERIFIED = { rejectUnauthorized: false, ca: [] as string[] };

/** Whether a TLS error says that the server requires a client certificate. Up to TLS 1.2, Go calls a missing one bad. */
export function wantsClientCertificate(code: string | undefined): boolean {
  return /ALERT_(?:BAD_CERTIFICATE|CERTIFICATE_REQUIRED)/.test(code ?? '');
}
