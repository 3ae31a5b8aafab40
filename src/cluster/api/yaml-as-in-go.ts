import { parseAllDocuments, type ScalarTag, type Tags } from 'yaml';

/** Parses as sigs.k8s.io/yaml does, which follows YAML 1.1, but has no times, and lets the last of two equal keys win. Throws YAMLParseError. */
export function parseYamlDocuments(text: string): unknown[] {
  const documents = parseAllDocuments(text, {
    ...{ version: '1.1', uniqueKeys: false, logLevel: 'silent' },
    customTags: (tags: Tags): Tags => [...tags.filter(isOfGo), BINARY],
  });
  if ('empty' in documents) return [];
  return documents.map((document) => {
    const [error] = document.errors;
    if (error) throw error;
    try {
      return document.toJS();
    } catch {
      // The message would quote the file.
      throw new Error('it is not valid YAML: an alias has no anchor');
    }
  });
}

const BINARY: ScalarTag = {
  tag: 'tag:yaml.org,2002:binary',
  resolve: (base64) => Buffer.from(base64, 'base64').toString(),
};

/** Go reads times, and numbers such as 1:30, as text. */
function isOfGo(tag: Tags[number]): boolean {
  if (typeof tag === 'string') return !['timestamp', 'intTime', 'floatTime', 'binary'].includes(tag);
  return !/:(?:timestamp|binary)$/.test(tag.tag) && (tag as { format?: string }).format !== 'TIME';
}
