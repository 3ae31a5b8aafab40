import type { ObjectName } from '../../report/object-name.ts';

/** The id under which the timeline of an object is open, also in the page's address: `timeline/Deployment/default/web`. */
export function timelineId({ kind, namespace = '', name }: ObjectName): string {
  return ['timeline', kind, namespace, name].join('/');
}

export function objectIn(id: string): ObjectName | undefined {
  const [what, kind, namespace, name, ...rest] = id.split('/');
  if (what !== 'timeline' || !kind || !name || rest.length > 0) return undefined;
  return { kind, ...(namespace ? { namespace } : {}), name };
}
