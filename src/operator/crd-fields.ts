import type { CustomResourceDefinition, Schema } from '../cluster/api/objects.ts';

/** What kube-apiserver keeps of a value, without everything else that a schema says. `ANY`: the whole value, as far as devloop can tell. */
export type Fields = typeof ANY | KnownFields;
export const ANY = 'any';

export interface KnownFields {
  byName: Map<string, Fields>;
  /** The fields of each entry of a list, or of each value of a map. */
  each?: Fields;
  isList: boolean;
  /** Fields without a schema are kept. */
  keepsOthers: boolean;
  /** An object with `apiVersion`, `kind` and `metadata`, which are always kept. */
  isResource: boolean;
}

/** A CRD, as far as it decides which fields of an object are kept. */
export interface CrdFields {
  /** The name of the CRD. */
  name: string;
  group: string;
  kind: string;
  versions: Map<string, VersionFields>;
  /** The version in which objects are stored. */
  stored: string;
  /** A webhook converts its objects, and can move their fields. */
  isConverted: boolean;
}

export interface VersionFields {
  fields: Fields;
  /** `status` can only be changed through the subresource. */
  hasStatus: boolean;
}

/** A CRD with more fields is not followed, so that the CRDs of a big cluster do not fill the memory. */
const MOST_FIELDS = 50_000;
/** Go's API server refuses deeper schemas. */
const MOST_LEVELS = 100;

/** The fields of a CRD; undefined if nothing is certain about them. */
export function crdFieldsOf({ metadata, spec }: CustomResourceDefinition): CrdFields | undefined {
  const { group, names, versions = [], conversion, preserveUnknownFields = false } = spec;
  const stored = versions.find(({ storage }) => storage)?.name;
  if (names === undefined || stored === undefined || preserveUnknownFields) return undefined;
  const count = { left: MOST_FIELDS };
  const all = versions.map(({ name, schema, subresources }): [string, VersionFields] => {
    const fields = fieldsOf(schema?.openAPIV3Schema, count, 0);
    const root = fields === ANY ? ANY : { ...fields, isResource: true };
    return [name, { fields: root, hasStatus: subresources?.status !== undefined }];
  });
  return {
    ...{ name: metadata.name, group, kind: names.kind, stored, versions: new Map(all) },
    isConverted: conversion?.strategy === 'Webhook',
  };
}

function fieldsOf(schema: Schema | undefined, count: { left: number }, level: number): Fields {
  count.left -= 1;
  if (schema === undefined || count.left < 0 || level > MOST_LEVELS) return ANY;
  const { type, items, properties, additionalProperties } = schema;
  const below = (one: Schema | undefined): Fields => fieldsOf(one, count, level + 1);
  if (type === 'array') {
    const each = below(items);
    return each === ANY ? ANY : { ...NO_FIELDS, each, isList: true };
  }
  if (type !== 'object') return ANY;
  // A map of anything. The API server keeps its entries, but not always what is in them.
  if (additionalProperties === true) return ANY;
  return {
    ...NO_FIELDS,
    byName: new Map(Object.entries(properties ?? {}).map(([name, one]) => [name, below(one)])),
    ...(additionalProperties ? { each: below(additionalProperties) } : {}),
    keepsOthers: schema['x-kubernetes-preserve-unknown-fields'] === true,
    isResource: schema['x-kubernetes-embedded-resource'] === true,
  };
}

const NO_FIELDS: KnownFields = { byName: new Map(), isList: false, keepsOthers: false, isResource: false };
