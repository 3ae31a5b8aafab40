import fc from 'fast-check';
import { expect, it } from 'vitest';
import { certifiedKey, mpint, string, uint32, WireReader } from '../../../src/route/ssh/wire.ts';

it('reads what it writes', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array()), (values) => {
      const reader = new WireReader(Buffer.concat(values.map((value) => string(Buffer.from(value)))));
      for (const value of values) expect(reader.string()).toEqual(Buffer.from(value));
      expect(reader.rest.length).toBe(0);
    }),
  );
});

it('throws RangeError when the bytes end too early', () => {
  expect(() => new WireReader(Buffer.concat([uint32(5), Buffer.from('four')])).string()).toThrow(RangeError);
  expect(() => new WireReader(Buffer.alloc(3)).uint32()).toThrow(RangeError);
});

it('writes positive numbers without needless zeros', () => {
  expect(mpint(Buffer.of(0, 0, 1))).toEqual(string(Buffer.of(1)));
  expect(mpint(Buffer.of(0x80))).toEqual(string(Buffer.of(0, 0x80)));
  expect(mpint(Buffer.of(0))).toEqual(uint32(0));
});

it('finds the key in a certificate', () => {
  const body = [string('nonce'), string('public key'), string('the rest')];
  const certificate = Buffer.concat([string('ssh-ed25519-cert-v01@openssh.com'), ...body]);
  expect(certifiedKey(certificate)).toEqual(Buffer.concat([string('ssh-ed25519'), string('public key')]));
  expect(certifiedKey(Buffer.concat([string('ssh-ed25519'), ...body]))).toBeUndefined();
  expect(certifiedKey(Buffer.concat([string('new-cert-v01@openssh.com'), ...body]))).toBeUndefined();
  fc.assert(fc.property(fc.uint8Array(), (bytes) => void certifiedKey(Buffer.from(bytes))));
});
