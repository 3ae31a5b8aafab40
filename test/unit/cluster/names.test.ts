import { expect, it } from 'vitest';
import type { ObjectRef } from '../../../src/cluster/api/kinds.ts';
import type { Lease } from '../../../src/cluster/api/objects.ts';
import { HOLDER_ANNOTATION, isLeaseFor, leasedObject, leaseRef } from '../../../src/cluster/names.ts';
import { leasedBy } from '../../../src/cluster/takeover/lease.ts';
import { OBJECT_NAME } from '../../../src/config/forms.ts';

const deployment = (name: string): ObjectRef => ({ kind: 'Deployment', namespace: 'shop', name });
const STEM = 'devloop.deployment.';
const LONGEST = 253;
const long = (end: string): ObjectRef => deployment('a'.repeat(LONGEST - end.length) + end);

it('the Lease of an object has its name, which leads back to the object', () => {
  for (const length of [1, LONGEST - STEM.length - 1]) {
    const ref = deployment('a'.repeat(length));
    expect(leaseRef(ref).name).toBe(`${STEM}${ref.name}`);
    expect(leasedObject(leaseRef(ref), ['Deployment'])).toEqual(ref);
  }
});

it('the Leases of objects with long names differ, and have names that Kubernetes accepts', () => {
  // The last of these has a dot where the name is cut.
  const cut = LONGEST - STEM.length - 17;
  const dotted = deployment(`${'a'.repeat(cut - 1)}.${'b'.repeat(LONGEST - cut)}`);
  const refs = [long('1'), long('2'), deployment('a'.repeat(LONGEST - STEM.length)), dotted];
  const names = refs.map((ref) => leaseRef(ref).name);
  expect(new Set(names).size).toBe(refs.length);
  for (const name of names) expect([name, OBJECT_NAME.fits(name)]).toEqual([name, true]);
});

it('a Lease with a long name is for what its holder names, and is still known by the name that it once had', () => {
  const ref = long('1');
  const named = (lease: ObjectRef, targets: ObjectRef[]): ObjectRef | undefined => {
    const holder = {
      user: '',
      host: '',
      pid: 1,
      processStart: '',
      since: '',
      route: '',
      health: '',
      targets,
    };
    const annotations = { [HOLDER_ANNOTATION]: JSON.stringify(holder) };
    const object: Lease = { metadata: { name: lease.name, namespace: 'shop', annotations }, spec: {} };
    return leasedBy({ ref: lease, object }, ['Deployment']);
  };
  const cut = { ...leaseRef(ref), name: `${STEM}${ref.name}`.slice(0, LONGEST) };
  for (const lease of [leaseRef(ref), cut]) {
    expect(isLeaseFor(lease, ref)).toBe(true);
    expect(named(lease, [deployment('other'), ref])).toEqual(ref);
    expect(named(lease, [deployment('other')])).toBeUndefined();
  }
  expect(isLeaseFor(leaseRef(ref), long('2'))).toBe(false);
  expect(isLeaseFor({ ...leaseRef(ref), namespace: 'other' }, ref)).toBe(false);
});
