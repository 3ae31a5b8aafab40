import type { ToolchainFinding } from '../language.ts';
import { wordAfter } from './go-mod.ts';

export interface LocalGo {
  /** The version of Go, such as `go1.26.8`. */
  version: string;
  /** GOTOOLCHAIN: `auto`, `local`, `path`, `go1.27.1`, `go1.26.0+auto`. */
  toolchain: string;
  /** Toolchains that are already downloaded, such as `go1.27.1`. */
  fetched: string[];
}

export interface GoMod {
  /** The oldest version that builds the module, such as `1.26.0`; empty if go.mod names none. */
  go: string;
  /** The toolchain that go.mod suggests, such as `go1.27.1`; empty if it suggests none. */
  toolchain: string;
}

export function readGoMod(text: string): GoMod {
  return {
    go: wordAfter('go', text) ?? '',
    toolchain: wordAfter('toolchain', text)?.replace(/^default$/, '') ?? '',
  };
}

/** Whether this machine's Go can build what go.mod requires. */
export function goFinding(local: LocalGo, mod: GoMod): ToolchainFinding {
  const proof = [
    `go version: ${local.version}`,
    `go.mod requires go ${mod.go || '(nothing)'}${mod.toolchain ? ` and suggests ${mod.toolchain}` : ''}`,
    `GOTOOLCHAIN=${local.toolchain}`,
  ];
  const mayFetch = /^auto$|\+auto$/.test(local.toolchain);
  const suggested = mayFetch ? mod.toolchain.replace(/^go/, '') : '';
  const wanted = isOlder(mod.go, suggested) ? suggested : mod.go;
  const version = local.version.replace(/^go/, '');
  if (!isOlder(version, wanted))
    return { verdict: 'ok', answer: `${local.version} builds this checkout`, proof };
  if (local.fetched.includes(`go${wanted}`))
    return { verdict: 'ok', answer: `go${wanted} builds this checkout and is already downloaded`, proof };
  const install = `Install Go ${wanted} from https://go.dev/dl`;
  if (mayFetch) {
    const answer = `${local.version} is older than go.mod requires, so the first build downloads go${wanted}`;
    return { verdict: 'warn', answer, proof, hint: `${install}, or download it now: go version` };
  }
  if (local.toolchain.includes('path')) {
    const answer = `${local.version} is older than go.mod requires, so go looks for go${wanted} on the PATH`;
    return { verdict: 'warn', answer, proof, hint: install };
  }
  return {
    verdict: 'fail',
    answer: `${local.version} cannot build this checkout, which requires go ${wanted}`,
    proof,
    hint: `${install}, or let go download it: go env -w GOTOOLCHAIN=auto`,
    code: 'controller.no-toolchain',
  };
}

/** 1.26rc1 < 1.26.0 < 1.26.8. A version without a patch number (the language version 1.21) counts as its first release. */
export function isOlder(version: string, wanted: string): boolean {
  const [left, right] = [numbers(version), numbers(wanted)];
  const differs = left.findIndex((part, index) => part !== right[index]);
  return differs >= 0 && left[differs]! < right[differs]!;
}

function numbers(version: string): number[] {
  const match = /^(\d+)(?:\.(\d+))?(?:\.(\d+)|(beta|rc)(\d+))?/.exec(version);
  if (match === null) return [0, 0, 0];
  const [, major, minor = '0', patch = '0', stage, number = '0'] = match;
  const before = stage === undefined ? 0 : (stage === 'rc' ? -100 : -200) + Number(number);
  return [Number(major), Number(minor), stage === undefined ? Number(patch) : before];
}
