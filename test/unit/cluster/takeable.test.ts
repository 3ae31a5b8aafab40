import { describe, expect, it } from 'vitest';
import type { Service } from '../../../src/cluster/api/objects.ts';
import { ourEndpoints, ourSlice } from '../../../src/cluster/takeover/endpoints.ts';
import { assertTakeable } from '../../../src/cluster/takeover/service.ts';
import { isControllerSlice } from '../../../src/cluster/takeover/slices.ts';

describe('the endpoints of a session', () => {
  const service: Service = { metadata: { name: 'webhook-service', namespace: 'shop' }, spec: {} };
  const to = {
    address: 'fd00::7',
    ports: [
      { name: '', port: 40001 },
      { name: 'conversion', port: 40002 },
    ],
  };

  it('have the port names of the Service, the family of the address, and the label of the session', () => {
    const slice = ourSlice(service, 's1', to);
    expect(slice).toMatchObject({
      addressType: 'IPv6',
      endpoints: [{ addresses: ['fd00::7'], conditions: { ready: true } }],
    });
    expect(slice.ports).toEqual([
      { name: '', port: 40001, protocol: 'TCP' },
      { name: 'conversion', port: 40002, protocol: 'TCP' },
    ]);
    expect(slice.metadata.labels).toMatchObject({
      'kubernetes.io/service-name': 'webhook-service',
      'devloop.dev/session': 's1',
    });
    expect(isControllerSlice(slice)).toBe(false);
    const endpoints = ourEndpoints(service, 's1', to, {
      metadata: { name: 'webhook-service', namespace: 'shop', resourceVersion: '5', labels: { app: 'x' } },
    });
    expect(endpoints.metadata).toMatchObject({
      resourceVersion: '5',
      labels: { app: 'x', 'endpointslice.kubernetes.io/skip-mirror': 'true', 'devloop.dev/session': 's1' },
    });
    expect(endpoints.subsets?.[0]?.ports).toEqual([
      { port: 40001, protocol: 'TCP' },
      { name: 'conversion', port: 40002, protocol: 'TCP' },
    ]);
  });

  it('have different names for two Services whose long names begin the same way', () => {
    const long = (end: string): Service => ({
      metadata: { name: `${'a'.repeat(55)}-${end}`, namespace: 'shop' },
      spec: {},
    });
    expect(ourSlice(long('one'), 's1', to).metadata.name).not.toBe(
      ourSlice(long('two'), 's1', to).metadata.name,
    );
  });
});

describe('a Service', () => {
  const service = (spec: Service['spec'], labels = {}): Service => ({
    metadata: { name: 'x', namespace: 'shop', labels },
    spec,
  });

  it.each([
    ['headless', { clusterIP: 'None', selector: { a: 'b' } }],
    ['of type ExternalName', { type: 'ExternalName' }],
  ])('%s cannot be taken over', (_name, spec) => {
    expect(() => assertTakeable(service(spec))).toThrow(
      expect.objectContaining({ code: 'service.unsupported' }),
    );
  });

  it('whose selector a session removed can be taken over', () => {
    expect(() => assertTakeable(service({}, { 'devloop.dev/session': 's1' }))).not.toThrow();
  });

  it('of one IP family refuses an address of the other', () => {
    expect(() => assertTakeable(service({ selector: { a: 'b' }, ipFamilies: ['IPv6'] }), '10.0.0.7')).toThrow(
      expect.objectContaining({ code: 'route.address' }),
    );
    expect(() =>
      assertTakeable(service({ selector: { a: 'b' }, ipFamilies: ['IPv6', 'IPv4'] }), '10.0.0.7'),
    ).not.toThrow();
  });
});
