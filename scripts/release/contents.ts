import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Step } from './step.ts';
import { bundledPackages, LICENCES, licenceTexts, nodePackages, type ThirdParty } from './third-party.ts';

/**
 * What a release contains that others wrote: the texts of their licences, and the software bill of materials. They come from what the build
 * has bundled: for npm, all of it are devDependencies. The same content gives the same bytes, so there is no time in them.
 */
export const contents: Step = {
  name: 'licences and bill of materials',
  run({ root, out, version, nodes }) {
    const bundled = bundledPackages(root);
    const inExecutables = nodePackages(Object.values(nodes));
    writeFileSync(join(out, LICENCES), licenceTexts([...bundled, ...inExecutables]));
    writeFileSync(join(out, `devloop-${version}.cdx.json`), billOfMaterials(version, bundled, inExecutables));
  },
};

/** CycloneDX 1.6 as JSON. */
function billOfMaterials(version: string, bundled: ThirdParty[], nodes: ThirdParty[]): string {
  const components = [
    ...bundled.map((one) => component(one, { type: 'library' })),
    ...nodes.map((one) => component(one, { type: 'platform', ...ofNode(one) })),
  ];
  const self = {
    type: 'application',
    'bom-ref': `pkg:npm/kube-devloop@${version}`,
    name: 'kube-devloop',
    version,
    licenses: [{ license: { id: 'Apache-2.0' } }],
    purl: `pkg:npm/kube-devloop@${version}`,
  };
  const refs = components.map((one) => one['bom-ref']);
  const content = {
    version: 1,
    metadata: { component: self },
    components,
    dependencies: [{ ref: self['bom-ref'], dependsOn: refs }, ...refs.map((ref) => ({ ref, dependsOn: [] }))],
  };
  const head = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`,
  };
  return `${JSON.stringify({ ...head, ...content }, null, 2)}\n`;
}

function component({ name, version, license, integrity }: ThirdParty, more: object) {
  const [group, base] = name.startsWith('@') ? name.split('/') : [undefined, name];
  const purl = `pkg:npm/${group ? `${encodeURIComponent(group)}/` : ''}${base}@${version}`;
  return {
    'bom-ref': purl,
    ...(group ? { group } : {}),
    name: base,
    version,
    ...(integrity ? { hashes: [{ alg: 'SHA-512', content: sha512(integrity) }] } : {}),
    licenses: [
      /[ ()]/.test(license)
        ? { expression: license.replace(/^\((.*)\)$/, '$1') }
        : { license: { id: license } },
    ],
    purl,
    ...more,
  };
}

/** Scanners for weaknesses know Node by this name, and not by that of the npm package. */
function ofNode({ version }: ThirdParty): object {
  return {
    description: 'Node.js, in the executables',
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
  };
}

function sha512(integrity: string): string {
  const [, hash] = /^sha512-(\S+)$/.exec(integrity) ?? [];
  if (hash === undefined) throw new Error(`not a SHA-512: ${integrity}`);
  return Buffer.from(hash, 'base64').toString('hex');
}

/** A UUID of version 8, which is made of a hash. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
