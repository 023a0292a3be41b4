import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { findExecutable } from '../../../src/process/find-executable.ts';
import { chooseMembers, type SampleOptions, startOf } from './choose-members.ts';
import { findTurn } from './find-turn.ts';
import { longTests, sampled, sampledOne } from './matrix.ts';
import { describeSample } from './report-sample.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

const chosen = <T>(members: readonly T[], options: SampleOptions<T>, seed: number | 'all', changed: string[] = []) => {
  const runs = chooseMembers('m', members, options, { seed, changed });
  return members.filter((_, index) => runs[index]);
};

describe('a sample', () => {
  const matrices = fc.record({
    kinds: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 60 }),
    oneIn: fc.integer({ min: 1, max: 12 }),
    first: fc.integer({ min: 0, max: 4_000_000_000 }),
  });

  it('leaves no member out of as many consecutive ones as it takes one in', () => {
    fc.assert(
      fc.property(matrices, ({ kinds, oneIn, first }) => {
        const members = kinds.map((kind, index) => ({ kind, index }));
        const ran = range(oneIn).flatMap((i) => chosen(members, { oneIn, kindOf: ({ kind }) => kind }, first + i));
        expect(new Set(ran)).toEqual(new Set(members));
      }),
    );
  });

  it('of matrices that take turns has members of one, and leaves none of theirs out either', () => {
    fc.assert(
      fc.property(matrices, fc.integer({ min: 1, max: 4 }), ({ kinds, oneIn, first }, of) => {
        const members = kinds.map((kind, index) => ({ kind, index }));
        const samples = range(oneIn * of).map((i) =>
          range(of).map((place) =>
            chosen(members, { oneIn, kindOf: ({ kind }) => kind, inTurn: { place, of } }, first + i),
          ),
        );
        for (const place of range(of))
          expect(new Set(samples.flatMap((sample) => sample[place]!))).toEqual(new Set(members));
        for (const sample of samples)
          expect(sample.filter(({ length }) => length > 0)).toHaveLength(Math.min(1, members.length));
      }),
    );
    expect(chosen(range(3), { oneIn: 3, inTurn: { place: 1, of: 2 } }, 'all')).toEqual(range(3));
    expect(chosen(['a'], { oneIn: 1, placeOf: (name) => name, inTurn: { place: 1, of: 2 } }, 2, ['a'])).toEqual(['a']);
  });

  it('has one in so many of each kind, and at least one', () => {
    fc.assert(
      fc.property(matrices, ({ kinds, oneIn, first }) => {
        const ran = chosen(kinds, { oneIn, kindOf: (kind) => kind }, first);
        for (const kind of new Set(kinds)) {
          const [all, sample] = [kinds, ran].map((list) => list.filter((other) => other === kind).length);
          expect(sample).toBeGreaterThanOrEqual(Math.max(1, Math.floor(all! / oneIn)));
          expect(sample).toBeLessThanOrEqual(Math.ceil(all! / oneIn));
        }
      }),
    );
  });

  it('is the same for a seed, moves by one with the next, and starts elsewhere in another matrix', () => {
    const options = { oneIn: 5 };
    expect(chosen(range(20), options, 7)).toEqual(chosen(range(20), options, 7));
    const [first] = chosen(range(20), options, 7);
    expect(chosen(range(20), options, 8)[0]).toBe((first! + 1) % 5);
    const starts = range(40).map((i) =>
      chooseMembers(`m${i}`, range(5), options, { seed: 7, changed: [] }).indexOf(true),
    );
    expect(new Set(starts).size).toBe(5);
  });

  it('has what runs always, and everything where all is asked for', () => {
    for (const seed of range(10)) expect(chosen(range(10), { oneIn: 10, always: (i) => i === 3 }, seed)).toContain(3);
    expect(chosen(range(10), { oneIn: 10 }, 'all')).toEqual(range(10));
  });

  it('has the members whose own files changed', () => {
    const members = ['red', 'redder'];
    for (const seed of [0, 1]) {
      const run = (...changed: string[]) =>
        chosen(members, { oneIn: 2, placeOf: (name) => `test/${name}` }, seed, changed);
      expect(run('test/red/kernel.cu')).toContain('red');
      expect(run('test/redder')).toContain('redder');
      expect(run('src/red/kernel.cu', 'test/redde')).toHaveLength(1);
    }
  });
});

describe.skipIf(!findExecutable('git'))('the turn of a run (needs git)', () => {
  let root: string;
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', ...args], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  const write = (name: string): void => writeFileSync(join(root, name), name);
  const commit = (name: string): void => {
    write(name);
    git('add', '.');
    git('commit', '-q', '-m', name);
  };

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'warpsmith-turn-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('is the number of commits, with what the last one and the work tree changed', () => {
    git('init', '-q');
    expect(findTurn(root, '', 0)).toEqual({ seed: 0, changed: [] });
    commit('a');
    expect(findTurn(root, '')).toEqual({ seed: 1, changed: [] });
    commit('b');
    mkdirSync(join(root, 'c'));
    write('c/d');
    write('a');
    writeFileSync(join(root, 'a'), 'other');
    expect(findTurn(root, '')).toEqual({ seed: 2, changed: ['b', 'a', 'c/d'] });
  });

  it('has of a merge what both branches did not have', () => {
    git('init', '-q', '-b', 'trunk');
    commit('a');
    git('switch', '-q', '-c', 'branch');
    commit('b');
    git('switch', '-q', 'trunk');
    commit('c');
    git('merge', '-q', '--no-commit', 'branch');
    git('commit', '-q', '-m', 'merge');
    expect(findTurn(root, '')).toEqual({ seed: 4, changed: [] });
    commit('a2');
    git('switch', '-q', 'branch');
    git('merge', '-q', '--no-commit', 'trunk');
    write('a');
    writeFileSync(join(root, 'b'), 'mended for the other branch');
    git('add', '.');
    git('commit', '-q', '-m', 'merge');
    expect(findTurn(root, '').changed).toEqual(['b']);
  });

  it('differs between shallow clones of different commits', () => {
    git('init', '-q');
    const seeds = ['a', 'b'].map((name) => {
      commit(name);
      git('clone', '-q', '--depth', '1', `file://${root}`, name + name);
      const { seed } = findTurn(join(root, name + name), '');
      rmSync(join(root, name + name), { recursive: true });
      return seed;
    });
    expect(seeds[0]).not.toBe(seeds[1]);
  });

  it('is that of the day where there is no repository', () => {
    expect(findTurn(root, '', Date.parse('1970-01-11T12:00Z'))).toEqual({ seed: 10, changed: [] });
  });

  it('is what the environment asks for', () => {
    expect(findTurn(root, '77').seed).toBe(77);
    expect(findTurn(root, 'all')).toEqual({ seed: 'all', changed: [] });
    for (const text of ['some', '-1', '1.5', ' 1'])
      expect(() => findTurn(root, text)).toThrow(`WARPSMITH_TEST_SAMPLE is "${text}"`);
  });
});

describe('a matrix', () => {
  const turn = inject('turn');
  const members = range(12).map((i) => [i, `${i}`] as const);
  const ran: number[] = [];
  sampled('itself', members, { oneIn: 4 })('runs its sample: %i', (i, text) => {
    expect(text).toBe(`${i}`);
    ran.push(i);
  });

  const names = ['one', 'two', 'three'];
  const named: string[] = [];
  const own = sampledOne('itself, by name', names, { oneIn: 3 });
  for (const name of names) own(name)(`runs ${name}`, { timeout: 1000, skip: false }, () => void named.push(name));

  const counted: number[] = [];
  const long = longTests(join(import.meta.dirname, 'nowhere.test.ts'), { oneIn: 3 });
  for (const i of range(7)) long(`runs member ${i} of those that come`, () => void counted.push(i), 1000);

  it('knows its members', () => expect(() => own('four')).toThrow('The matrix itself, by name has no member four.'));

  afterAll(() => {
    const run = chooseMembers('itself', members, { oneIn: 4 }, turn);
    expect(ran).toEqual(range(12).filter((i) => run[i]));
    const runs = chooseMembers('itself, by name', names, { oneIn: 3 }, turn);
    expect(named).toEqual(names.filter((_, i) => runs[i]));
    const first = startOf('test/support/sampling/nowhere.test.ts', 3, turn);
    expect(counted).toEqual(range(7).filter((i) => first === undefined || i % 3 === first));
  });
});

describe('what a run says of its sample', () => {
  it('is how many members ran, how to run all, and how to repeat it, in 80 columns', () => {
    const text = describeSample(770, 412, 1630)!;
    expect(text).toBe(
      'A sample of 412 of 1,630 members of the matrices ran; the others are skipped.\n`npm run test:all` runs all; WARPSMITH_TEST_SAMPLE=770 repeats this sample.',
    );
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(describeSample('all', 1630, 1630)).toBe('All 1,630 members of the matrices ran.');
    expect(describeSample(7, 0, 0)).toBeUndefined();
  });
});
