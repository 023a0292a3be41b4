import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseExpression } from '../../src/core/expressions/parser.ts';
import { stripSources } from './stripped-sources.ts';

let root: string;
const write = (path: string, text: string): void => writeFileSync(join(root, path), text);
const moduleOf = (path: string): string => join(root, '.vitest/sources', path);

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'warpsmith-strip-'));
  mkdirSync(join(root, 'src/b'), { recursive: true });
  write(
    'src/a.ts',
    "import { type B, b } from './b/b.ts';\nexport const url = import.meta.url, sum = (x: number): B => x + b;\n",
  );
  write(
    'src/b/b.ts',
    "export type B = number;\nexport const b = 2, later = () => import('../a.ts');\nexport const file = './b.ts';\n",
  );
});
afterEach(() => rmSync(root, { recursive: true }));

it('are modules that Node loads, that name each other, and that are where their sources are', async () => {
  stripSources(root);
  const a = await import(pathToFileURL(moduleOf('src/a.mjs')).href);
  const b = await import(pathToFileURL(moduleOf('src/b/b.mjs')).href);
  expect(a.sum(1)).toBe(3);
  expect(a.url).toBe(pathToFileURL(join(root, 'src/a.ts')).href);
  expect(await b.later()).toBe(a);
  expect(b.file).toBe('./b.ts');
});

it('follow the sources: what changed is written, what stayed is left, what went is removed', () => {
  stripSources(root);
  const { ino } = statSync(moduleOf('src/b/b.mjs'));
  write('src/a.ts', 'export const changed = 1;\n');
  stripSources(root);
  expect(readFileSync(moduleOf('src/a.mjs'), 'utf8')).toContain('changed');
  expect(statSync(moduleOf('src/b/b.mjs')).ino).toBe(ino);
  rmSync(join(root, 'src/a.ts'));
  stripSources(root);
  expect(existsSync(moduleOf('src/a.mjs'))).toBe(false);
});

it('have no folder of their own to ask for', () => {
  write('src/a.ts', 'export const folder = import.meta.dirname;\n');
  expect(() => stripSources(root)).toThrow(`${join(root, 'src/a.ts')} asks import.meta for more than its url`);
});

it.skipIf(process.env.WARPSMITH_BUILD === '')('are what tests of a run import, line by line like the sources', () => {
  const { stack } = (() => {
    try {
      return parseExpression(undefined as never) as never;
    } catch (error) {
      return error as Error;
    }
  })();
  const frame = /\.vitest\/sources\/src\/core\/expressions\/parser\.mjs:(?<line>\d+):\d+/.exec(stack!);
  const lines = readFileSync(join(import.meta.dirname, '../../src/core/expressions/parser.ts'), 'utf8').split('\n');
  expect(lines[Number(frame!.groups!.line) - 1]).toContain('tokenize(');
});
