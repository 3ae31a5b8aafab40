/** Which names of fields, variables, flags and annotations show that their value is a secret. */

/** This is matched against a name in lower case, without its separators: `PGPASSWORD`, `dbPassword`, `access-key`, `APIKeys`. */
const SECRET =
  /passw(?:or)?d|passphrase|passcode|token|secret|credential|dockerconfig|dockercfg|(?:api|access|account|auth|client|decryption|encryption|hmac|master|priv|private|shared|signing|ssl|tls)key/;
/**
 * These count only as the last word of a name: `DB_PASS`, `rsaPrivate`. Elsewhere they mean something else: `passThrough`,
 * `privateSubnets`.
 */
const LAST_WORDS = new Set(['pass', 'pwd', 'private', 'cred', 'creds', 'psk']);
/** Names of files that contain keys: `tls.key`, `server.key`, `store.p12`. */
const KEY_FILE = /^[\w-]+\.(?:key|p12|pfx|jks|ppk|keystore)$/i;
/** The shell's variable for the working directory. */
const WORKING_DIRECTORY = 'PWD';

/** Last words of names whose values only describe a secret: where it is, of which kind, for how long, or how much of it there is. */
const ABOUT = new Set(
  [
    'name names namespace namespaces ref refs reference selector file files path paths dir directory mount',
    'url uri endpoint arn issuer provider audience audiences type types kind mode version group class',
    'spec template policy algorithm encoding format size length count limit enabled optional',
    'ttl seconds minutes hours days duration interval timeout expiry expiration',
  ].flatMap((line) => line.split(' ')),
);
/** Like `ABOUT`, for names without separators: `secretname`, `PASSWORDFILE`. */
const ENDS_ABOUT = new RegExp(`(?:${SECRET.source})s?(?:name|namespace|ref|refs|file|path|type)$`);
/** First words of names that are quantities: `maxTokens`. */
const QUANTITIES = new Set(['max', 'min']);
/** `imagePullSecrets`, `existingSecret`: their values are names of Secrets. */
const NAMES_OF_SECRETS = /(?:pull|existing)secrets?$/;
/**
 * kube-apiserver's key for the credential with which the user logged in, such as the hash of a certificate. It is in nearly every review.
 */
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

/** Results by name: the same few keys occur in each review, and splitting them into words would take half the time of recording. */
const known = new Map<string, boolean>();
const MOST_KNOWN = 5_000;
const LONGEST_KNOWN = 100;

/**
 * Whether a name shows that its value is a secret: `dbPassword`, `API_KEY`, `client-secret`; not `secretName`, whose value only shows where
 * a secret is.
 */
export function namesSecret(name: string): boolean {
  const before = known.get(name);
  if (before !== undefined) return before;
  const names = isSecretName(name);
  if (known.size >= MOST_KNOWN) known.clear();
  if (name.length <= LONGEST_KNOWN) known.set(name, names);
  return names;
}

function isSecretName(name: string): boolean {
  if (name === CREDENTIAL_ID || name === WORKING_DIRECTORY) return false;
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  const last = words.at(-1) ?? '';
  if (LAST_WORDS.has(last) || KEY_FILE.test(name)) return true;
  const whole = words.join('');
  if (!SECRET.test(whole)) return false;
  return !(
    ABOUT.has(last) ||
    QUANTITIES.has(words[0]!) ||
    NAMES_OF_SECRETS.test(whole) ||
    ENDS_ABOUT.test(whole)
  );
}

/** Keys below a key that names a secret: their values show where the secret is and of which kind, but do not contain it. */
export const REFERENCES = new Set([
  'name',
  'namespace',
  'kind',
  'apiVersion',
  'apiGroup',
  'path',
  'audience',
  'fieldPath',
  'resourceVersion',
  'secretName',
  'uid',
  'type',
  'algorithm',
  'encoding',
  'rotationPolicy',
]);

/** Values that are no secrets, such as `$(VAR)` and `${VAR}`, which stand for variables. */
const NO_SECRET = /^(?:\$\(\w+\)|\$\{\w+\}|true|false|null|~|""|''|<redacted \d+ bytes>)$/;

/** Whether a value is no secret, whatever its name is. */
export function isNoSecret(value: string): boolean {
  return NO_SECRET.test(value);
}
