/**
 * For TLS to the controller, which is a local process with a certificate for the name of a Service: nothing is verified. Without authorities,
 * Node does not read its own 150 first, which takes ten milliseconds when reviews wait.
 */
export const UNVERIFIED = { rejectUnauthorized: false, ca: [] as string[] };
