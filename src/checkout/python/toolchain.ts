import { runTool } from '../../machine/tool.ts';
import type { Checkout } from '../files.ts';
import type { ToolchainFinding, ToolchainQuestion } from '../language.ts';
import { findInEnvironment, installCommand, pythonEnvironment } from './environment.ts';

/** Is there a Python for the checkout? */
export async function judgePython(
  { root }: Checkout,
  { signal }: ToolchainQuestion,
): Promise<ToolchainFinding> {
  const environment = await pythonEnvironment(root, signal);
  const python = findInEnvironment('python', environment);
  const { stdout = '', stderr = '' } =
    python === undefined ? {} : await runTool([python, '--version'], { cwd: root, signal });
  const version = (stdout + stderr).trim();
  if (python === undefined || version === '')
    return {
      verdict: 'fail',
      answer: 'there is no Python for this checkout',
      proof: ['neither .venv nor the PATH contains python3'],
      hint: installCommand(root),
      code: 'controller.no-toolchain',
    };
  return { verdict: 'ok', answer: `${version} runs this checkout`, proof: [python] };
}
