import { join, relative, sep } from 'node:path';
import { afterAll, inject, it, type TestFunction, type TestOptions } from 'vitest';
import { chooseMembers, type SampleOptions, startOf, type Turn, touches } from './choose-members.ts';

declare module 'vitest' {
  interface ProvidedContext {
    turn: Turn;
  }
  interface TaskMeta {
    /** Of a test that only `npm run test:all` runs always: whether this run left it out. */
    isLeftOut?: boolean;
  }
}

/** As `it.each` passes them: a tuple is spread. */
type Arguments<T> = T extends readonly unknown[] ? [...T] : [member: T];

type Body<T> = (...args: Arguments<T>) => unknown;

/** Like what `it.each` returns. */
export interface Register<T> {
  (title: string, body: Body<T>): void;
  (title: string, options: TestOptions, body: Body<T>): void;
}

/**
 * Matrices of which a run's members take five to thirteen seconds of processor time. Each third run has members of the same ones. Every
 * run searches another ladder (cli/demo, cli/optimize), refuses and passes other kernels of the red team and honest ones, judges
 * other rungs and a lesson (cli/learn), and runs the instructions of Hopper's rungs.
 */
const TAKING_TURNS = [
  ['whole ladders'],
  ['the red team, thoroughly', 'honest kernels for attention', 'lessons of the course'],
  ['dtypes of rungs of attention', 'rungs for Hopper, judged'],
];

const turnsOf = (matrix: string): SampleOptions<unknown>['inTurn'] => {
  const place = TAKING_TURNS.findIndex((names) => names.includes(matrix));
  return place < 0 ? undefined : { place, of: TAKING_TURNS.length };
};

const choose = <T>(matrix: string, members: readonly T[], options: SampleOptions<T>): boolean[] =>
  chooseMembers(matrix, members, { inTurn: turnsOf(matrix), ...options }, inject('turn'));

function register<T>(members: readonly T[], runs: readonly boolean[]): Register<T> {
  return (title: string, ...[first, second]: [Body<T>] | [TestOptions, Body<T>]) => {
    const [options, body] = second === undefined ? [{}, first as Body<T>] : [first as TestOptions, second];
    for (const isLeftOut of [false, true]) {
      const cases = members.filter((_, index) => runs[index] !== isLeftOut);
      const skip = isLeftOut || options.skip; // A `skip: false` of theirs would overrule `it.skip`.
      it.each(cases)(title, { ...options, skip, meta: { isLeftOut } }, body as (...args: unknown[]) => void);
    }
  };
}

/**
 * `it.each` for a matrix: tests of one path through the code with many data. `npm test` runs a sample that moves with every
 * commit, and skips the others; `npm run test:all` runs every member.
 */
export const sampled = <T>(matrix: string, members: readonly T[], options: SampleOptions<T>): Register<T> =>
  register(members, choose(matrix, members, options));

/** The same for a matrix whose members have tests of their own: what registers the one of a member. */
export function sampledOne<T>(matrix: string, members: readonly T[], options: SampleOptions<T>) {
  const runs = choose(matrix, members, options);
  return (member: T): Register<[]> => {
    const index = members.indexOf(member);
    if (index < 0) throw new Error(`The matrix ${matrix} has no member ${member}.`);
    return register<[]>([[]], [runs[index]!]);
  };
}

/** Like `it`. */
export interface Long {
  (title: string, body: TestFunction, timeoutMs?: number): void;
  (title: string, options: TestOptions, body: TestFunction): void;
}

/** Registers a test that is a member of a matrix, and that this run takes or leaves out. */
export const itUnless =
  (isLeftOut: boolean): Long =>
  (title: string, ...[first, second]: [TestFunction, number?] | [TestOptions, TestFunction]) => {
    const [options, body] = typeof first === 'function' ? [{}, first] : [first, second as TestFunction];
    const timeout = typeof second === 'number' ? { timeout: second } : {};
    it(title, { ...options, ...timeout, skip: isLeftOut || options.skip, meta: { isLeftOut } }, body);
  };

const ROOT = join(import.meta.dirname, '../../..');

/** A test file's path from the repository's root, the same on every machine. */
export const placeOfTest = (file: string): string => relative(ROOT, file).replaceAll(sep, '/');

/**
 * `it` for long tests of one file that show one thing in several ways: a matrix whose members are counted as they are registered.
 * Where the file changed, all of them run.
 *
 * @param file `import.meta.filename` of the test file, which has as many of them at least.
 */
export function longTests(file: string, { oneIn }: { readonly oneIn: number }): Long {
  const turn = inject('turn');
  const place = placeOfTest(file);
  const start = touches(place, turn) ? undefined : startOf(place, oneIn, turn);
  let count = 0;
  afterAll(() => {
    if (count < oneIn) throw new Error(`${place} has ${count} long tests. One in ${oneIn} runs: in some runs none.`);
  });
  return (title: string, ...rest: [TestFunction, number?] | [TestOptions, TestFunction]) => {
    const isLeftOut = start !== undefined && count % oneIn !== start;
    count++;
    itUnless(isLeftOut)(title, ...(rest as [TestFunction, number?]));
  };
}

/** Registers a long test that only `npm run test:all` runs. In every run another one tests the same in small. */
export const onlyInAll: Register<[]> = register<[]>([[]], [inject('turn').seed === 'all']);
