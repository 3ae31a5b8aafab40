import { isIP, isIPv6 } from 'node:net';
import { isRule } from '../faults/parse.ts';
import { jsonPath } from './json-path.ts';

/** What a text must look like, in a flag and in devloop.yaml alike. */
export interface Form {
  /** Completes `expected …`. */
  expected: string;
  fits(text: string): boolean;
  /** What every text that fits matches, for the JSON Schema: editors check no more. */
  pattern?: string;
}

export const ADDRESS: Form = {
  expected: 'an IP address, such as 192.168.1.20',
  fits: (text) => isIP(text) > 0,
  pattern: '^[0-9A-Fa-f:.]+(?:%.+)?$',
};

/** `10.0.0.0/8` or `fd00::/8`, or a single address. */
export const NETWORK: Form = {
  expected: 'a network or an address, such as 10.0.0.0/8',
  pattern: '^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$',
  fits(text) {
    const [address = '', prefix = '0', ...rest] = text.split('/');
    // devloop compares IPv4 addresses only in IPv4 notation, and a zone is meaningful only on one machine.
    if (isIP(address) === 0 || /%|^::ffff:/i.test(address) || rest.length > 0) return false;
    return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (isIPv6(address) ? 128 : 32);
  },
};

const IMAGE_PATTERN = /^[\w.-]+(?::\d+)?(?:\/[\w.-]+)*(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?$/;

/** An image can have a tag, a digest, both or neither. */
export const IMAGE: Form = {
  expected: 'an image, such as registry.example.com/node:24-alpine',
  fits: (text) => IMAGE_PATTERN.test(text),
  pattern: IMAGE_PATTERN.source,
};

export const JSON_PATH: Form = {
  expected: 'a JSONPath of fields, such as .spec.card.number, .spec.users[*].pin or ..pin',
  fits: (text) => jsonPath(text) !== undefined,
};

export const FAULT: Form = {
  expected:
    'a fault, such as "409 update deployments share=50%"; `devloop fault --help` lists what it can say',
  fits: isRule,
};

/** A word that begins with a dash would become a flag of the go tool. */
export const MAIN_PACKAGE: Form = {
  expected: 'a main package, such as ./cmd/manager',
  fits: (text) => text !== '' && !text.startsWith('-'),
  pattern: '^[^-]',
};

const NAMESPACE_PATTERN = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

export const NAMESPACE: Form = {
  expected: 'a namespace: lower-case letters, digits and dashes',
  fits: (text) => NAMESPACE_PATTERN.test(text),
  pattern: NAMESPACE_PATTERN.source,
};

/** The name of a Service, a workload or a Secret can have dots, and up to 253 characters. */
const NAME = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const LONGEST_NAME = 253;

/** What `--also-pause` takes: a Deployment, always with its namespace, or NONE. */
export const ALSO_PAUSE: Form = {
  expected: 'a Deployment as NAMESPACE/NAME, or none',
  pattern: '^(?:none|[-a-z0-9]+/[-.a-z0-9]+)$',
  fits: (text) => text === NONE || (text.includes('/') && OBJECT_NAME.fits(text)),
};

/** What `--identity` takes. */
export const IDENTITY: Form = {
  expected: 'serviceaccount, me, or a ServiceAccount as NAMESPACE/NAME',
  pattern: '^(?:serviceaccount|me|[-a-z0-9]+/[-.a-z0-9]+)$',
  fits: (text) => ['serviceaccount', 'me'].includes(text) || (text.includes('/') && OBJECT_NAME.fits(text)),
};

/** Pauses nothing besides the manager. */
export const NONE = 'none';

export const OBJECT_NAME: Form = {
  expected: 'a name, or namespace/name',
  pattern: '^(?:[-a-z0-9]+/)?[-.a-z0-9]+$',
  fits(text) {
    const [first = '', second, ...rest] = text.split('/');
    const name = second ?? first;
    if (rest.length > 0 || name.length > LONGEST_NAME || !NAME.test(name)) return false;
    return second === undefined || NAMESPACE.fits(first);
  },
};
