import { inject, it, type TestOptions } from 'vitest';
import { chooseMembers, type SampleOptions, type Turn } from './choose-members.ts';

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
  register(members, chooseMembers(matrix, members, options, inject('turn')));

/** The same for a matrix whose members have tests of their own: what registers the one of a member. */
export function sampledOne<T>(matrix: string, members: readonly T[], options: SampleOptions<T>) {
  const runs = chooseMembers(matrix, members, options, inject('turn'));
  return (member: T): Register<[]> => {
    const index = members.indexOf(member);
    if (index < 0) throw new Error(`The matrix ${matrix} has no member ${member}.`);
    return register<[]>([[]], [runs[index]!]);
  };
}

/** Registers a long test that only `npm run test:all` runs. In every run another one tests the same in small. */
export const onlyInAll: Register<[]> = register<[]>([[]], [inject('turn').seed === 'all']);
