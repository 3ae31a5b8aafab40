import { ARCH, OS } from '../../machine/host.ts';

const SYSTEMS = new Set(
  'aix android darwin dragonfly freebsd illumos ios js linux netbsd openbsd plan9 solaris wasip1 windows'.split(
    ' ',
  ),
);
const ARCHITECTURES = new Set(
  '386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x wasm'.split(' '),
);
/** The go tool sets these tags on every system on which operators are developed. */
const ALWAYS = new Set(['unix', 'gc', 'cgo']);

/** Whether a file is part of the build on this machine, by its name and its `//go:build` expression. */
export function isBuilt(name: string, constraint: string, tags: ReadonlySet<string>): boolean {
  return fitsName(name) && fits(constraint, tags);
}

/** `a_linux.go`, `a_arm64.go`, `a_linux_arm64.go`. */
function fitsName(name: string): boolean {
  const parts = name.replace(/\.go$/, '').split('_').slice(1);
  const last = parts.at(-1) ?? '';
  if (SYSTEMS.has(last)) return last === OS;
  if (!ARCHITECTURES.has(last)) return true;
  const before = parts.at(-2) ?? '';
  return last === ARCH && (!SYSTEMS.has(before) || before === OS);
}

/** An expression that cannot be read counts as true: the go tool will report what is wrong with it. */
function fits(constraint: string, tags: ReadonlySet<string>): boolean {
  const isSet = (tag: string): boolean =>
    tags.has(tag) || tag === OS || tag === ARCH || ALWAYS.has(tag) || /^go1(\.\d+)?$/.test(tag);
  let left = constraint.replace(/\s+/g, '').replace(/[\w.]+/g, (tag) => (isSet(tag) ? '1' : '0'));
  for (let before = ''; before !== left; ) {
    before = left;
    left = left
      .replaceAll(/!([01])/g, (_, value) => (value === '1' ? '0' : '1'))
      .replaceAll(/\(([01])\)/g, '$1')
      .replace(/(?<!!)([01])&&([01])/, (_, a, b) => (a === '1' && b === '1' ? '1' : '0'));
    // `&&` binds tighter than `||`.
    if (before === left)
      left = left.replace(
        /(^|\(|\|\|)([01])\|\|([01])(?=\)|\|\||$)/,
        (_, start, a, b) => `${start}${a === '1' || b === '1' ? '1' : '0'}`,
      );
  }
  return left !== '0';
}
