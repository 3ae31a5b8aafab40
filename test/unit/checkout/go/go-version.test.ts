import { describe, expect, it } from 'vitest';
import { goFinding, isOlder, readGoMod } from '../../../../src/checkout/go/go-version.ts';

const local = { version: 'go1.26.8', toolchain: 'auto', fetched: [] as string[] };

it.each([
  ['1.26.0', '1.26.8', true],
  ['1.26', '1.26.0', false],
  ['1.26rc2', '1.26.0', true],
  ['1.26rc1', '1.26rc2', true],
  ['1.26beta1', '1.26rc1', true],
  ['1.26.0', '1.26rc1', false],
  ['1.9', '1.21', true],
  ['1.26.8', '1.26.8', false],
  ['1.26.8', '', false],
  ['1.26.8-X:nodwarf5', '1.26.9', true],
])('%s is older than %s: %s', (version, wanted, answer) => {
  expect(isOlder(version, wanted)).toBe(answer);
});

it('reads go.mod', () => {
  const text = 'module x\n\ngo 1.26.0\n\ntoolchain go1.27.1\n\nrequire go.uber.org/zap v1.0.0\n';
  expect(readGoMod(text)).toEqual({ go: '1.26.0', toolchain: 'go1.27.1' });
  expect(readGoMod('module x\n')).toEqual({ go: '', toolchain: '' });
  expect(readGoMod('go 1.21\ntoolchain default\n')).toEqual({ go: '1.21', toolchain: '' });
});

describe('the local Go', () => {
  const verdict = (toolchain: string, go: string, suggested = '', fetched: string[] = []) =>
    goFinding({ ...local, toolchain, fetched }, { go, toolchain: suggested }).verdict;

  it('is new enough', () => {
    expect(verdict('local', '1.26.0')).toBe('ok');
    expect(verdict('auto', '')).toBe('ok');
  });

  it('is too old: in the way where none may be fetched', () => {
    expect(verdict('local', '1.27.0')).toBe('fail');
    expect(verdict('go1.26.8', '1.27.0')).toBe('fail');
    expect(verdict('auto', '1.27.0')).toBe('warn');
    expect(verdict('go1.26.8+auto', '1.27.0')).toBe('warn');
    expect(verdict('path', '1.27.0')).toBe('warn');
    expect(verdict('auto', '1.27.0', '', ['go1.27.0'])).toBe('ok');
  });

  it('follows a suggestion only where it may fetch', () => {
    expect(verdict('auto', '1.26.0', 'go1.27.1')).toBe('warn');
    expect(verdict('local', '1.26.0', 'go1.27.1')).toBe('ok');
  });

  it('is shown with what proves it, and what to do', () => {
    expect(goFinding({ ...local, toolchain: 'local' }, { go: '1.99.0', toolchain: '' })).toEqual({
      verdict: 'fail',
      answer: expect.stringMatching(/^go1\.26\.8 .* go 1\.99\.0$/),
      proof: ['go version: go1.26.8', 'go.mod requires go 1.99.0', 'GOTOOLCHAIN=local'],
      hint: expect.stringMatching(/Go 1\.99\.0 .*: go env -w GOTOOLCHAIN=auto$/),
      code: 'controller.no-toolchain',
    });
  });
});
