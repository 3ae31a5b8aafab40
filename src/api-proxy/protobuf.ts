/** What Kubernetes' protobuf bodies begin with; a `runtime.Unknown` follows. */
const MAGIC = Buffer.from('k8s\0');
const RAW = 2;
/** Fields of each object, and of its metadata. */
const METADATA = 1;
const NAME = 1;
const GENERATE_NAME = 2;
const LENGTH_DELIMITED = 2;

/** One field of a message, with its bytes as they are. */
interface Field {
  number: number;
  type: number;
  /** The content, for a field that has a length. */
  content: Buffer;
  whole: Buffer;
}

/** Adds bytes to the object in a body in Kubernetes' protobuf, as fields of its own. Undefined if the body is none. */
export function withFields(body: Buffer, added: Buffer): Buffer | undefined {
  const fields = unknownFields(body);
  const raw = fields?.find(({ number }) => number === RAW);
  const object = raw?.content ?? Buffer.alloc(0);
  // A last field that is cut would take what follows as its content.
  if (fields === undefined || fieldsOf(object) === undefined) return undefined;
  const content = Buffer.concat([added, object]);
  const others = fields.filter((field) => field !== raw).map(({ whole }) => whole);
  return Buffer.concat([MAGIC, ...others, lengthDelimited(RAW, content)]);
}

/** The name in the metadata of the object in such a body, or how it is to begin; undefined if there is none. */
export function nameInProtobuf(body: Buffer): string | undefined {
  const raw = unknownFields(body)?.find(({ number }) => number === RAW)?.content;
  const metadata = raw && fieldsOf(raw)?.find(({ number }) => number === METADATA)?.content;
  const fields = (metadata && fieldsOf(metadata)) ?? [];
  const text = (wanted: number): string | undefined =>
    fields.find(({ number }) => number === wanted)?.content.toString('utf8');
  return text(NAME) || text(GENERATE_NAME);
}

/** A field with a length. `number`: below 16. */
export function lengthDelimited(number: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | LENGTH_DELIMITED]), varint(content.length), content]);
}

function unknownFields(body: Buffer): Field[] | undefined {
  return body.subarray(0, MAGIC.length).equals(MAGIC) ? fieldsOf(body.subarray(MAGIC.length)) : undefined;
}

/** Undefined if the bytes are no message. */
function fieldsOf(bytes: Buffer): Field[] | undefined {
  const fields: Field[] = [];
  let at = 0;
  while (at < bytes.length) {
    const key = readVarint(bytes, at);
    if (key === undefined) return undefined;
    const type = key.value & 7;
    const content = contentAt(bytes, key.end, type);
    if (content === undefined) return undefined;
    const { start, end } = content;
    fields.push({
      ...{ number: key.value >>> 3, type },
      ...{ content: bytes.subarray(start, end), whole: bytes.subarray(at, end) },
    });
    at = end;
  }
  return fields;
}

function contentAt(bytes: Buffer, at: number, type: number): { start: number; end: number } | undefined {
  const number = type === 0 || type === LENGTH_DELIMITED ? readVarint(bytes, at) : { value: 0, end: at };
  if (number === undefined) return undefined;
  const start = number.end;
  const length = { 0: 0, 1: 8, [LENGTH_DELIMITED]: number.value, 5: 4 }[type];
  if (length === undefined || start + length > bytes.length) return undefined;
  return { start, end: start + length };
}

const MOST_BYTES = 10;

/** Numbers above 2^53 are read inexactly; no length is that large. */
function readVarint(bytes: Buffer, at: number): { value: number; end: number } | undefined {
  let value = 0;
  for (let index = 0; index < MOST_BYTES && at + index < bytes.length; index++) {
    const byte = bytes[at + index]!;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  return undefined;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 0x80)) {
    if (rest < 0x80) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 0x80) | 0x80);
  }
}
