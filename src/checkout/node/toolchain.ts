import { delimiter, join } from 'node:path';
import { runTool } from '../../machine/tool.ts';
import type { Checkout } from '../files.ts';
import type { ToolchainFinding, ToolchainQuestion } from '../language.ts';
import { packagesIn } from './packages.ts';

/** The least version in `>=20`, `^20.1.0` or `20.x`. Other ranges are not judged. */
const LEAST = /^(?:>=|\^|~)?\s*v?(\d+)(?:\.(\d+))?[\w.]*$/;

/** Is there a Node for the checkout? One that is installed as a package of the checkout comes first. */
export async function judgeNode(
  checkout: Checkout,
  { env, signal }: ToolchainQuestion,
): Promise<ToolchainFinding> {
  const { root } = checkout;
  const PATH = [join(root, 'node_modules/.bin'), env.PATH ?? ''].join(delimiter);
  const { missing, stdout } = await runTool(['node', '--version'], {
    cwd: root,
    env: { ...env, PATH },
    signal,
  });
  const hint = 'Install Node.js from https://nodejs.org';
  const code = 'controller.no-toolchain';
  if (missing) return { verdict: 'fail', answer: 'there is no node on the PATH', proof: [], hint, code };
  const version = stdout.trim();
  const needed = packagesIn(checkout)[0]?.node;
  const proof = needed === undefined ? [] : [`package.json: engines.node ${needed}`];
  return isNewEnough(version, needed)
    ? { verdict: 'ok', answer: `Node ${version} runs this checkout`, proof }
    : { verdict: 'warn', answer: `Node ${version} is older than the checkout asks for`, proof, hint };
}

function isNewEnough(version: string, needed = ''): boolean {
  const [, major = '0', minor = '0'] = LEAST.exec(needed.trim()) ?? [];
  const [, has = '0', hasMinor = '0'] = LEAST.exec(version) ?? [];
  return Number(has) !== Number(major) ? Number(has) > Number(major) : Number(hasMinor) >= Number(minor);
}
