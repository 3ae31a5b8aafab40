import type { Checkout } from '../files.ts';
import type { ToolchainFinding, ToolchainQuestion } from '../language.ts';
import { askCargo, compareVersions, readWorkspace } from './cargo.ts';

/** Can this machine's Rust build the checkout? rustup runs the toolchain that rust-toolchain.toml names, if it is installed. */
export async function judgeRust({ root }: Checkout, question: ToolchainQuestion): Promise<ToolchainFinding> {
  const asking = { env: question.env as NodeJS.ProcessEnv, signal: question.signal };
  const { rustVersion } = await readWorkspace(root, asking);
  const { stdout } = await askCargo(['--version'], root, asking);
  const version = /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? '';
  const proof = rustVersion === undefined ? [] : [`Cargo.toml: rust-version ${rustVersion}`];
  if (rustVersion === undefined || compareVersions(version, rustVersion) >= 0)
    return { verdict: 'ok', answer: `Rust ${version} builds this checkout`, proof };
  return {
    verdict: 'fail',
    answer: `Rust ${version} is too old for this checkout, which needs ${rustVersion}`,
    proof,
    hint: 'rustup update',
    code: 'controller.no-toolchain',
  };
}
