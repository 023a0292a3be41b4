import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli, runJson, scaleCopy } from './run-cli.ts';

const ON_L4 = ['--device', 'virtual:l4', '--threads', '1'];

const fn = 'export const reference = ({ X }) => ';

const problemWith = (reference: string): ReturnType<typeof scaleCopy> => {
  const copy = scaleCopy();
  writeFileSync(join(copy.problem, 'reference.ts'), reference);
  return copy;
};

const CASES: readonly [what: string, code: string, reference: string, words: string, place?: string][] = [
  ['throws', 'reference-failed', `${fn}{ throw new Error('mine'); }`, 'throws Error: mine', '1:45'],
  ['calls a missing function', 'reference-failed', `${fn}({ Y: missing(X) })`, 'missing is not defined', '1:43'],
  ['calls itself for ever', 'reference-failed', `${fn}reference({ X })`, 'Maximum call stack size exceeded', '1:37'],
  [
    'allocates until there is no more',
    'reference-failed',
    `${fn}{ const kept = []; for (;;) kept.push(new ArrayBuffer(2 ** 44)); }`,
    'Array buffer allocation failed',
  ],
  ['has a syntax error', 'reference-failed', `${fn}(`, "can't be loaded"],
  ['imports what is not there', 'reference-failed', "import './gone.ts';", 'Cannot find module'],
  ['exports another name', 'missing-reference', 'export const other = 1;', 'has no function `reference`'],
  ['returns another output', 'reference-output', `${fn}({ Z: X })`, "does not return output 'Y'"],
  ['returns too little', 'reference-output', `${fn}({ Y: X.slice(1) })`, "does not return output 'Y'"],
  ['exits', 'reference-ended', `${fn}{ queueMicrotask(() => { throw 1; }); }`, 'ended its process'],
];

describe('a reference that', () => {
  test.each(CASES)('%s is the problem’s mistake: %s', async (_, code, text, words, place) => {
    const { problem, kernel } = problemWith(text);
    const file = join(problem, 'reference.ts');
    const { code: exitCode, json, stderr } = await runJson(['evaluate', kernel, ...ON_L4]);
    expect({ exitCode, error: json.error }).toMatchObject({
      exitCode: 2,
      error: { code, file, message: expect.stringContaining(words), hint: expect.any(String) },
    });
    if (place !== undefined) expect(json.error.path).toBe(place);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test.each([
    ['reads files', "import 'node:fs';", /^Let it compute/, null],
    ['has a syntax error', `\n${fn}(`, /^Correct the reference/, '2'],
    ['ends while it is loaded', "\n  throw new Error('run me with node');", /^Correct the reference/, '2:9'],
  ])('%s is not to be run unconfined instead', async (_, text, hint, place) => {
    const { json } = await runJson(['evaluate', problemWith(text).kernel, ...ON_L4]);
    expect(json.error.hint).toMatch(hint);
    expect(json.error.hint).not.toContain('node ');
    expect(json.error.path).toBe(place);
  });

  test.each([
    ['audit', ({ problem }: ReturnType<typeof scaleCopy>) => [problem]],
    ['diagnose', ({ kernel }: ReturnType<typeof scaleCopy>) => [kernel, ...ON_L4]],
    ['optimize', ({ problem }: ReturnType<typeof scaleCopy>) => [problem, ...ON_L4, '--store', join(problem, 'store')]],
  ])('throws ends %s with the same error', async (command, rest) => {
    const copy = problemWith(`${fn}{ throw new Error('mine'); }`);
    const { code, stderr } = await runCli([command, ...rest(copy)]);
    expect(code).toBe(2);
    expect(stderr).toContain('[reference-failed] the reference of scale throws Error: mine');
  });
});
