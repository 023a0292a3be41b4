import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { runCli } from '../../src/cli/main.ts';
import { sampled } from '../support/sampling/matrix.ts';
import { COALESCED as CHANGED, gateRepository, slowerBy } from './gate-repository.ts';
import { SCALE } from './run-cli.ts';

/** What commands print on a terminal of 80 and one of 120 columns. Texts that changed: `npx vitest run test/cli/screens.test.ts -u`. */
const WIDTHS = [80, 120] as const;
/** Nothing is cut in so many columns. */
const WIDE = 2000;

/** Where a line breaks depends on the lengths of paths: they are of one length everywhere. */
const PATH_LENGTH = 44;
const room = PATH_LENGTH - tmpdir().length - 1;
const folder = join(tmpdir(), `screens-${randomBytes(PATH_LENGTH).toString('hex')}`.slice(0, room));
const SHOWN_FOLDER = '/tmp/screens'.padEnd(PATH_LENGTH, '-');
const isLongEnough = room >= 'screens-'.length + 8;

const problem = join(folder, 'scale');
const ON_L4 = ['--device', 'virtual:l4', '--seed', '1'];
const STORE = ['--store', join(folder, 'store')];
/** Made on a GPU. */
const RECORDINGS = join(import.meta.dirname, '../fixtures/recordings');
const MEASURED = [
  ...['measure', join(RECORDINGS, 'attention'), '--replay', join(RECORDINGS, 'h200-attention-ladder-small.jsonl.gz')],
  ...['--workload', 'b1h8s512d64', '--seed', '1', '--baseline', 'all'],
];

const [STRIDED, COALESCED] = [join(problem, '01_strided'), join(problem, '02_coalesced')];

/** Screen → command line, of those that are kept as texts and run nothing: they are held every time. */
const HELP: Readonly<Record<string, readonly string[]>> = {
  help: ['--help'],
  'help-optimize': ['optimize', '--help'],
};

/** Screen → command line, of the others that are kept as texts. */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  check: ['check', problem],
  evaluate: ['evaluate', STRIDED, ...ON_L4],
  diagnose: ['diagnose', STRIDED, ...ON_L4],
  compare: ['compare', STRIDED, COALESCED, ...ON_L4],
  measure: MEASURED,
  gate: ['gate', join(folder, 'repository'), '--base', 'main', ...ON_L4],
  // A run that has ended prints its end again.
  'optimize-end': ['resume', ...STORE],
  show: ['show', ...STORE],
  'show-evaluation': ['show', 'latest/e2', ...STORE],
  runs: ['runs', ...STORE],
  devices: ['devices'],
  doctor: ['doctor'],
};

/** Long ones, of which only the rules are held. */
const LONG: Readonly<Record<string, readonly string[]>> = {
  report: ['report', ...STORE],
  inspect: ['inspect', STRIDED, ...ON_L4],
  patterns: ['patterns', ...STORE],
  'the end of a run with --verbose': ['resume', ...STORE, '--verbose'],
  'check --verbose': ['check', problem, '--verbose'],
  'evaluate --verbose': ['evaluate', STRIDED, ...ON_L4, '--verbose'],
  'diagnose --verbose': ['diagnose', STRIDED, ...ON_L4, '--verbose'],
  'doctor --verbose': ['doctor', '--verbose'],
};

async function printed(args: readonly string[], columns: number): Promise<string> {
  let text = '';
  const write = (chunk: unknown, _encoding: unknown, done: () => void): void => {
    text += String(chunk);
    done();
  };
  const terminal = { isTTY: true, columns, getColorDepth: () => 1, hasColors: () => false };
  const out = Object.assign(new Writable({ decodeStrings: false, write }), terminal);
  const err = new Writable({ decodeStrings: false, write: (_chunk, _encoding, done) => done() });
  const { columns: before } = process.stdout;
  process.stdout.columns = columns;
  try {
    await runCli(args, { out, err } as unknown as Parameters<typeof runCli>[1]);
  } finally {
    process.stdout.columns = before;
  }
  return text;
}

/** The same on every machine and every day. Nothing changes its length but what ends its line. */
const normalised = (text: string): string =>
  text
    .replaceAll(folder, SHOWN_FOLDER)
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d/g, '2026-01-01T00-00-00')
    .replaceAll(/^(Took: .* evaluations.*?), [\d hmins]+ (?=min|s\b)/gm, '$1, <time> ')
    .replaceAll(/^(Ready: )\d+ of \d+ checks passed.*$/gm, '$1<checks> passed');

const wordsOf = (text: string): Set<string> => new Set(text.split(/\s+/));

/** Lines that are wider than the terminal, but for those that hold one long word, such as a path, after its name. */
const tooWide = (text: string, columns: number): string[] =>
  text.split('\n').filter((line) => [...line].length > columns && /\S\s/.test(line.trim().replace(/^[\w ]+: /, '')));

/** What was cut within a word: what stands before `…` is no word of the whole text. */
const broken = (text: string, whole: Set<string>): string[] =>
  [...text.matchAll(/(\S+)…(?=\s|$)/gm)].map(([, word]) => word!).filter((word) => !whole.has(word));

beforeAll(async () => {
  // A terminal without colours, and a machine without a GPU.
  vi.stubEnv('NO_COLOR', '1');
  vi.stubEnv('FORCE_COLOR', undefined);
  vi.stubEnv('CUDA_VISIBLE_DEVICES', '');
  mkdirSync(folder);
  cpSync(SCALE, problem, { recursive: true });
  const file = join(problem, 'problem.json');
  const workloads = [256, 512].map((N) => ({ name: `n${N}`, dimensions: { N } }));
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), workloads }));
  mkdirSync(join(folder, 'repository'));
  const { git, edit } = gateRepository(join(folder, 'repository'));
  git('switch', '-q', '-c', 'change');
  edit(CHANGED, slowerBy(2));
  await printed(['optimize', problem, ...ON_L4, '--max-evaluations', '6', ...STORE], 80);
  // The run stays as old as it is.
  vi.useFakeTimers({ toFake: ['Date'] });
});

afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** What is printed at each of the widths, held to the rules. */
async function screensOf(args: readonly string[]): Promise<[columns: number, text: string][]> {
  const whole = wordsOf(await printed(args, WIDE));
  const screens: [number, string][] = [];
  for (const columns of WIDTHS) {
    const text = await printed(args, columns);
    expect(text).not.toBe('');
    expect(tooWide(text, columns)).toEqual([]);
    expect(broken(text, whole)).toEqual([]);
    screens.push([columns, text]);
  }
  return screens;
}

async function holdToTexts(name: string, args: readonly string[]): Promise<void> {
  for (const [columns, text] of await screensOf(args)) {
    await expect(normalised(text)).toMatchFileSnapshot(`screens/${name}.${columns}.txt`);
  }
}

describe.skipIf(!isLongEnough)('what a terminal shows', () => {
  test.each(Object.keys(HELP))('%s', (name) => holdToTexts(name, HELP[name]!));

  sampled('screens', Object.keys(KEPT), { oneIn: 12, placeOf: (name) => `test/cli/screens/${name}.80.txt` })(
    '%s',
    (name) => holdToTexts(name, KEPT[name]!),
  );

  sampled('long screens', Object.keys(LONG), { oneIn: 12 })('%s: no line too wide, no word cut', async (name) => {
    await screensOf(LONG[name]!);
  });

  test('a run ends on a screen, nothing well is told in more than a line, and a move takes one', async () => {
    const lines = async (name: string): Promise<string[]> => (await printed(KEPT[name]!, 80)).trimEnd().split('\n');
    expect((await lines('optimize-end')).length).toBeLessThanOrEqual(20);
    expect(await lines('doctor')).toHaveLength(1);
    const moves = (await lines('diagnose')).join('\n').split('What to try')[1]!;
    expect(moves.match(/01_strided: PER_THREAD 16 → 8/g)).toHaveLength(1);
  });
});

test('the checks see what they are for', () => {
  const whole = wordsOf('01_strided → 02_coalesced and more');
  expect(broken('01_strided → 02_coal…', whole)).toEqual(['02_coal']);
  expect(broken('01_strided →…', whole)).toEqual([]);
  expect(tooWide('a line of words\nlong', 10)).toEqual(['a line of words']);
  expect(tooWide('Report: /a/path/that/is/long', 10)).toEqual([]);
});
