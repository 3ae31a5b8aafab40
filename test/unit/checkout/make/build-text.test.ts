import { arch, platform } from 'node:process';
import { expect, test } from 'vitest';
import { buildRecipes } from '../../../../src/checkout/go/recipes.ts';
import { buildVariables } from '../../../../src/checkout/make/build-text.ts';
import { expandVariables } from '../../../../src/checkout/make/variables.ts';

/** The value of V; undefined if only make or a shell can compute it. */
function valueOfV(text: string): string | undefined {
  return expandVariables('$(V)', buildVariables(text));
}

test.each<[string, string | undefined]>([
  ['V = a', 'a'],
  ['V := a\nV ::= b\nV :::= c', 'c'],
  ['override V := a', 'a'],
  ['override export V = a', 'a'],
  ['export V = a', 'a'],
  ['V ?= a\nV ?= b\nV += c', 'a c'],
  ['V = a\nV != date +%s', undefined],
  ['V != date +%s', undefined],
  ['define V\n-X a=b\n  -X c=d\nendef', '-X a=b -X c=d'],
  ['define W\nV = a\nendef', ''],
  ['V = a\nV := $(V) b', 'a b'],
  [`V="-s"\nV="$V -w"\nV="\${V:-} -x"`, '"-s -w -x"'],
  [`V="\${OTHER:-a}"`, '"a"'],
  [`OTHER = b\nV=\${OTHER:-a}`, 'b'],
  ['build: V = a', ''],
  ['build:\n\tV=a go build', ''],
])('assignments: %j', (text, value) => {
  expect(valueOfV(text)).toBe(value);
});

test.each<[string, string | undefined]>([
  ['V = $(or $(A),$(B),c)', 'c'],
  ['B = b\nV = $(or $(A), $(B), c)', 'b'],
  ['V = $(strip  a   b )', 'a b'],
  ['A = 1\nV = $(if $(A),a,b)', 'a'],
  ['V = $(if $(A),a,b)', 'b'],
  ['V = $(if $(strip $(A)),a,b,c)', 'b,c'],
  ['V = $(and $(A),b)', ''],
  ['V = $(notdir $(dir bin/manager/x.exe))$(basename a.b)', 'a'],
  ['V = $(firstword a b)$(lastword a b)', 'ab'],
  ['V = $(shell go env GOOS)', platform],
  ['V = $(or $(A),$(shell git describe))', undefined],
  ['V = $(patsubst a,b,c)', undefined],
])('functions: %j', (text, value) => {
  expect(valueOfV(text)).toBe(value);
});

const UNKNOWN = '$(shell git status)';

test.each<[string, string | undefined]>([
  ['ifeq (a,a)\n  V = 1\nelse\n  V = 2\nendif', '1'],
  ['ifeq (a, b)\n  V = 1\nelse\n  V = 2\nendif', '2'],
  ['ifneq ($(A),)\nV = 1\nelse ifeq "$(B)" "b"\nV = 2\nelse # or\nV = 3\nendif\nV += 4', '3 4'],
  ["B = b\nifneq ($(A),)\nV = 1\nelse ifeq '$(B)' 'b'\nV = 2\nelse\nV = 3\nendif", '2'],
  ['A = 1\nifdef A\n\tV = 1\nendif\nifndef B\n\tV += 2\nendif', '1 2'],
  ['V = 1\nifdef A\n  ifeq (a,a)\n    V = 2\n  endif\nendif', '1'],
  [`V = 1\nifeq (${UNKNOWN},)\n  V = 2\nelse\n  V = 3\nendif`, '1'],
  [`V = 1\nifeq (${UNKNOWN},)\nelse ifeq (a,b)\nV = 2\nelse\nV = 3\nendif\nV += 4`, '1 4'],
  ['ifeq ($(shell go env GOOS),windows)\n  V = 1\nelse\n  V = 2\nendif', '2'],
  ['b:\nifeq (a,a)\n\tV=1 go build\nendif', ''],
  ['ifeq (a,b)\ndefine V\nx\nendef\nendif', ''],
  ['if true; then\n  V=1\nelse\n  V=2\nfi', ''],
])('conditions: %j', (text, value) => {
  expect(valueOfV(text)).toBe(value);
});

const system = { linux: 'Linux', darwin: 'Darwin' }[platform as string] ?? '';

test.each<[string, string[]]>([
  [
    'build: TAGS = a\nTAGS = b\nbuild:\n\tgo build -tags $(TAGS) .\nrun:\n\tgo run -tags $(TAGS) .',
    ['a', 'b'],
  ],
  ['build run: export TAGS += a\nTAGS = b\nbuild:\n\tgo build -tags "$(TAGS)" .', ['b,a']],
  ['define TAGS\na\nendef\nb:\n\tgo build -tags $(TAGS) .', ['a']],
  ['b:\nifdef DEBUG\n\tgo build -tags a .\nelse\n\tgo build -tags b .\nendif', ['b']],
  [`b:\nifeq (${UNKNOWN},)\n\tgo build -tags a .\nelse\n\tgo build -tags b .\nendif`, ['a', 'b']],
  ['b:\n\tgo build -tags $(or $(TAGS),a) .', ['a']],
  [`ifeq ($(shell uname -s),${system})\n  TAGS += a\nendif\nb:\n\tgo build -tags $(TAGS) .`, ['a']],
  ['ifndef A\n  override B := go build -tags a\nendif\nb:\n\t$(B) .', ['a']],
  ['F = $(if $(DEBUG),-race,-tags a)\nb:\n\tgo build $(F) .', ['a']],
])('the tags of the builds of %j', (text, tags) => {
  expect(buildRecipes(text, 'example.com/operator').map((recipe) => recipe.tags)).toEqual(tags);
});

test.each<[string, string]>([
  ['b:\n\tgo build $(CURDIR)/cmd/shop', './cmd/shop'],
  ['b:\n\tcd $(PWD)/core && go build ./cmd', './core/cmd'],
  ['R := $(shell pwd)\nb:\n\tgo build -C "$(R)/core" ./cmd', './core/cmd'],
  ['bin/shop:\n\tgo build -o $@ ./cmd/$(notdir $@)', './cmd/shop'],
])('the package of %j', (text, goPackage) => {
  expect(buildRecipes(text, 'example.com/operator').map((recipe) => recipe.package)).toEqual([goPackage]);
});

test('the architecture is that of this machine', () => {
  const [known] = [{ x64: 'amd64' }[arch as string] ?? arch];
  expect(valueOfV('V = $(shell go env GOARCH)')).toBe(known);
});
