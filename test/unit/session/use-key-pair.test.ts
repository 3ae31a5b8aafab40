import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { FoundPair } from '../../../src/local/key-pairs.ts';
import { useKeyPair } from '../../../src/session/renewals.ts';

it('a renewed key pair is presented to kube-apiserver although its files cannot be written', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-pair-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, 'tls.crt'), "the user's own");
  const found: FoundPair = {
    pair: { certificate: 'new', key: 'new' },
    facts: { names: [], notBefore: new Date(), notAfter: new Date(), issuer: '' },
    secret: { namespace: 'shop', name: 'certs', files: {}, directories: [], exists: true },
  };
  const presented: unknown[] = [];
  const using = useKeyPair('web.shop.svc', found, {
    work: { emit: () => {} },
    target: { services: [{ serverName: 'web.shop.svc' }] },
    keyPairDirectories: [directory],
    route: { gateways: { present: (...what) => presented.push(what) } },
  });
  await expect(using).rejects.toMatchObject({ code: 'certificate.not-written' });
  expect(presented).toEqual([['web.shop.svc', found.pair]]);
});
