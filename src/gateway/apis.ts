import { pathOf } from './paths.ts';

/** What kube-apiserver asks whoever serves an API of the cluster, about all that is served there. */
const ABOUT_ALL = ['/apis', '/openapi/v2', '/openapi/v3'];

/**
 * Whether a request is for one of these APIs, named as their APIServices are. kube-apiserver asks for each again and again, so these are no
 * strangers, although nothing here serves them.
 */
export function isForApi(url: string, apis: readonly string[]): boolean {
  if (apis.length === 0) return false;
  const path = pathOf(url);
  return ABOUT_ALL.includes(path) || apis.map(rootOf).some((root) => `${path}/`.startsWith(`${root}/`));
}

/** `v1.shop.example.com` is served below `/apis/shop.example.com/v1`. */
function rootOf(api: string): string {
  const [version, ...group] = api.split('.');
  return `/apis/${group.join('.')}/${version}`;
}
