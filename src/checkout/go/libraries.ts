import { runTool } from '../../machine/tool.ts';
import { goEnvironment } from './build-command.ts';
import type { MainDirectory } from './checkout.ts';

/** Packages that only managers link. The other packages of controller-runtime are left out, because command line tools use its client. */
const MANAGERS = [
  /^sigs\.k8s\.io\/controller-runtime(?:\/pkg\/(?:manager|builder|controller|webhook)(?:\/.*)?)?$/,
  /^github\.com\/operator-framework\/(?:operator-sdk|helm-operator-plugins)\/.*/,
  /^k8s\.io\/client-go\/(?:informers|dynamic\/dynamicinformer|metadata\/metadatainformer|tools\/leaderelection)$/,
  /^knative\.dev\/pkg\/(?:controller|injection\/sharedmain)$/,
  // The reviews of a webhook server without such a library; client-go does not link them.
  /^k8s\.io\/api\/admission\/v1(?:beta1)?$/,
];
/**
 * The package on which an operator's own generated informers are built. kubectl links it, too, so it counts only if the operator's sources
 * import it.
 */
const CACHE = 'k8s.io/client-go/tools/cache';

function isManagerLibrary(path: string): boolean {
  return MANAGERS.some((pattern) => pattern.test(path));
}

/**
 * Whether a program links a manager library, judging by the imports in this checkout's sources; undefined if they import packages of other
 * modules, which can link such a library.
 */
export function linksByImports(
  imports: ReadonlySet<string>,
  isLocal: (path: string) => boolean,
): boolean | undefined {
  const all = [...imports];
  if (all.some((path) => path === CACHE || isManagerLibrary(path))) return true;
  const isForeign = (path: string): boolean => path.split('/')[0]!.includes('.') && !isLocal(path);
  return all.some(isForeign) ? undefined : false;
}

/** With these variables, the go tool downloads neither modules nor another toolchain. */
export const OFFLINE = { GOPROXY: 'off', GONOPROXY: 'none', GOVCS: '*:off' };
/** What the go tool prints if it is not allowed to download a module that its cache lacks. */
export const LACKS_MODULE = /module lookup disabled by GOPROXY=off/;

/** What the go tool reports about one main package. */
export interface Links {
  /** Whether it links a manager library; undefined if it depends on packages that are missing. */
  isManager: boolean | undefined;
  /** Why `isManager` is not known, in the words of the go tool. */
  problem: string;
}

const FORMAT =
  '{{.Dir}}{{"\\t"}}{{.Incomplete}}{{"\\t"}}{{with .DepsErrors}}{{printf "%q" (index . 0).Err}}{{end}}{{"\\t"}}{{join .Deps " "}}';

/**
 * Asks the go tool which of these main packages link a manager library; the answers have the directories as keys. Without `mayDownload`,
 * the go tool uses only its cache.
 */
export async function linksByGo(
  mains: MainDirectory[],
  { mayDownload, signal }: { mayDownload: boolean; signal: AbortSignal | undefined },
): Promise<Map<string, Links>> {
  const links = new Map<string, Links>();
  const env = mayDownload ? process.env : { ...process.env, ...OFFLINE };
  for (const cwd of new Set(mains.map(({ module }) => module.directory))) {
    const own = mains.filter(({ module }) => module.directory === cwd).map(({ directory }) => directory);
    const list = ['go', 'list', '-buildvcs=false', '-e', '-f', FORMAT, ...own];
    const { stdout, stderr } = await runTool(list, { cwd, env: goEnvironment(env), signal });
    for (const directory of own) links.set(directory, { isManager: undefined, problem: stderr.trim() });
    for (const line of stdout.split('\n').filter(Boolean)) {
      const [directory = '', incomplete, problem = '', imports = ''] = line.split('\t');
      const isManager = imports.split(' ').some(isManagerLibrary);
      const isKnown = isManager || incomplete === 'false';
      links.set(directory, { isManager: isKnown ? isManager : undefined, problem: unquoted(problem) });
    }
  }
  return links;
}

/** Go quotes as JSON does, except for some control characters. */
function unquoted(text: string): string {
  try {
    return text === '' ? '' : String(JSON.parse(text));
  } catch {
    return text;
  }
}
