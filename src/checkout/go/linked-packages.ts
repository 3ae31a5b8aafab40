import { reportWhileWaiting } from '../../async.ts';
import { runTool, type ToolResult } from '../../machine/tool.ts';
import type { Emit } from '../../report/events.ts';
import type { LinkedPackages } from '../language.ts';
import { goEnvironment } from './build-command.ts';
import { LACKS_MODULE, OFFLINE } from './libraries.ts';
import { requireNewEnough } from './toolchain.ts';

/** A program: a main package, where it is built, and with which flags. */
export interface GoProgram {
  directory: string;
  goPackage: string;
  flags: string[];
}

interface LinkedOptions {
  emit?: Emit | undefined;
  signal?: AbortSignal | undefined;
  /** The packages that the go tool would list, if they are known already. */
  known?: ReadonlyMap<string, string> | undefined;
}

/**
 * The returned function runs the go tool when it is called for the first time, and only then: that takes about a second, or longer if
 * modules have to be downloaded. If packages of the program are missing, it returns the others. Throws 'controller.no-toolchain' if go.mod
 * requires a newer Go.
 */
export function linkedPackages(
  { directory: cwd, goPackage, flags }: GoProgram,
  { emit = () => {}, signal, known }: LinkedOptions = {},
): LinkedPackages {
  if (known) return async () => known;
  const format = '{{.ImportPath}}{{"\\t"}}{{.Dir}}';
  const list = (more: string[], env: NodeJS.ProcessEnv, what: string): Promise<ToolResult> => {
    const words = ['go', 'list', '-buildvcs=false', ...more, '-deps', '-f', format, ...flags, goPackage];
    return reportWhileWaiting(runTool(words, { cwd, env: goEnvironment(env), signal }), { for: what }, emit);
  };
  const read = async (): Promise<ReadonlyMap<string, string>> => {
    const what = `go list ${goPackage}`;
    const cached = await list([], { ...process.env, ...OFFLINE }, what);
    const why = LACKS_MODULE.test(cached.stderr) ? ', which downloads modules' : '';
    const { code, stdout, stderr } = cached.code === 0 ? cached : await list(['-e'], process.env, what + why);
    if (code !== 0) requireNewEnough(stderr);
    const packages = stdout.split('\n').map((line) => line.split('\t'));
    return new Map(packages.map(([path = '', place = '']) => [path, place]));
  };
  let listed: ReturnType<LinkedPackages> | undefined;
  return () => (listed ??= read());
}

/** These packages elect a leader by a lock that belongs to a Pod ("leader for life"), instead of a Lease. */
const LEADERS_FOR_LIFE = [
  'github.com/operator-framework/operator-lib/leader',
  'github.com/operator-framework/operator-sdk/pkg/leader',
];

/** Whether a program elects a Pod as its leader (leader for life), rather than the holder of a Lease. */
export async function electsPod(linked: LinkedPackages): Promise<boolean> {
  const packages = await linked();
  return LEADERS_FOR_LIFE.some((path) => packages.has(path));
}

/** This package reads KUBECONFIG, and defines the flag --kubeconfig for every program that links it. */
const READS_VARIABLE = 'sigs.k8s.io/controller-runtime/pkg/client/config';

/** Whether the program finds its kubeconfig in KUBECONFIG, whatever flags its own sources define. */
export async function readsVariable(linked: LinkedPackages): Promise<boolean> {
  return (await linked()).has(READS_VARIABLE);
}
