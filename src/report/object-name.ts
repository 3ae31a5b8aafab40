/** An object of the cluster. In a dry run, `<session>` in its name stands for the session's id, and `*` for what is not known yet. */
export interface ObjectName {
  kind: string;
  namespace?: string;
  name: string;
}

/** `Service shop/webhooks`, `APIService v1.example.com` */
export function describe({ kind, namespace, name }: ObjectName): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}
