import type { Language } from '../language.ts';
import { reading } from '../text-questions.ts';
import { cargoTool } from './build-tool.ts';
import { rustProgram } from './program.ts';
import { judgeRust } from './toolchain.ts';

/** A dependency on a client of Kubernetes in Cargo.toml: `kube = "1"`, `kube.workspace = true`, `[dependencies.kube]`. */
const CLIENT = /^\s*(?:\[[\w.-]*dependencies\.)?(?:kube(?:-client|-core|-runtime)?|k8s-openapi)\s*[=.\]]/m;

const SOURCES = /\.rs$/;
/** The group of a type that `derive(CustomResource)` makes a CRD from; the attribute can span lines. */
const GROUP = /#\[kube\([^\]]*?\bgroup\s*=\s*"([\w.-]+)"/g;

function groupsIn(text: string): string[] {
  return [...text.matchAll(GROUP)].map(([, group]) => group!);
}

export const RUST: Language = {
  name: 'Rust',
  signs: ['Cargo.toml'],
  // Libraries of Python, and tools beside an operator, have a Cargo.toml, too.
  detect: (checkout) =>
    checkout.files((name) => name === 'Cargo.toml').some((path) => CLIENT.test(checkout.text(path))),
  workspace: { signs: [{ file: 'Cargo.toml', says: /^\s*\[workspace\b/m }], locks: ['Cargo.lock'] },
  sources: SOURCES,
  files: /\.rs$|^Cargo\.toml$/,
  read: reading({
    sources: SOURCES,
    name: /^\s*name\s*=\s*"([\w-]+)"/m,
    inPod: /\bConfig::(?:incluster|incluster_env|incluster_dns)\b/,
    anywhere: /\b(?:Client::try_default|Config::(?:infer|from_kubeconfig|from_custom_kubeconfig))\b/,
    more: (texts) => ({ groups: new Set(texts.flatMap(groupsIn)) }),
  }),
  program: rustProgram,
  toolchain: judgeRust,
  tool: cargoTool,
};
