import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WarpsmithError } from '../../../../src/core/errors.ts';
import type { ReferenceRun, ReferenceTensors, RunReference } from '../../../../src/core/problem.ts';
import { lazilyMapped, type SparseTensors } from '../../../../src/core/sparse-tensor.ts';
import { perturbInputs } from '../../../../src/evaluation/oracle/perturbed-inputs.ts';
import { nodeProgram } from '../../../../src/evaluation/oracle/reference-process/node-program.ts';
import {
  hostReference,
  type ReferenceHostOptions,
  referenceMemoryBytes,
} from '../../../../src/evaluation/oracle/reference-process/reference-host.ts';
import { networkWall } from '../../../../src/process/network-wall.ts';
import { usableMemoryBytes } from '../../../../src/process/usable-memory.ts';
import { maps } from '../../../support/maps.ts';

let folder: string;
let count = 0;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'warpsmith-reference-')));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A module with this text. */
const host = async (text: string, options: Partial<ReferenceHostOptions> = {}): Promise<RunReference> => {
  const file = join(folder, `reference-${count++}.ts`);
  await writeFile(file, text);
  return hostReference({ problem: 'scale', file, folder, program: nodeProgram, ...options });
};

const inputs: ReferenceTensors = { X: Float64Array.of(1, -2, Number.NaN, -0, 1e300) };

const run = (reference: RunReference, signal?: AbortSignal) =>
  reference({ inputs, dimensions: { N: 5 }, rounding: 'exact', signal });

const errorOf = async (work: Promise<unknown>): Promise<WarpsmithError['details']> => {
  const error = await work.then(
    () => 'no error',
    (thrown: unknown) => thrown,
  );
  if (error instanceof WarpsmithError) return error.details;
  throw new Error(`not a WarpsmithError: ${error}`);
};

/** One module, and so one process, for several bodies of a reference: the first number of `X` says which one runs. */
const oneOf = async (bodies: readonly string[]): Promise<(place: number) => Promise<ReferenceTensors>> => {
  const reference = await host(`
    const bodies = [${bodies.map((body) => `(X) => ${body}`).join(',\n')}];
    export const reference = ({ X }) => bodies[X[0]](X);`);
  return (place) => reference({ inputs: { X: Float64Array.of(place) }, dimensions: { N: 1 }, rounding: 'exact' });
};

describe('a reference in a process of its own', () => {
  it('perturbs inputs as would be done here, to the bit', async () => {
    const reference = await host('export const reference = ({ X, I }) => ({ Y: X.slice(), J: I.slice() });');
    expect(reference.perturbs).toBe(true);
    // Beyond the number of multipliers, after which they come again.
    const values = Float64Array.from({ length: 140_000 }, (_, i) => (i % 100 === 0 ? 0 : Math.sin(i)));
    const given = { X: values, I: Float64Array.of(3, 4) };
    for (const run of [0, 1]) {
      const perturbation = { names: ['X'], run, relative: 2 ** -20 };
      const { Y, J } = await reference({ inputs: given, dimensions: { N: 1 }, rounding: 'exact', perturbation });
      expect(Y).toEqual(perturbInputs(given, perturbation).X);
      expect(Y).not.toEqual(values);
      expect(J).toEqual(given.I);
    }
  });

  it('gives runs that are asked for at once what each would be given alone', async () => {
    // It gives back what it was given, in memory that the next run gets again, and says which call of its process this is.
    const reference = await host(
      `
      let calls = 0;
      export const reference = ({ X }) => ({ X, calls: Float64Array.of(++calls) });`,
      { limits: { processes: 1 } },
    );
    const given = { X: Float64Array.from({ length: 500 }, (_, i) => Math.sin(i)) };
    const request = { inputs: given, dimensions: { N: 1 }, rounding: 'exact' as const };
    const perturbations = [0, 1].map((run) => ({ names: ['X'], run, relative: 2 ** -20 }));
    const changed = perturbations.map((perturbation) => ({ ...request, perturbation }));
    const all = await Promise.all([request, ...changed, { ...request, rounding: 'f16' as const }].map(reference));
    expect(all.map(({ calls }) => calls![0])).toEqual([1, 2, 3, 4]);
    expect(all[0]!.X).toEqual(given.X);
    for (const [i, perturbation] of perturbations.entries())
      expect(all[1 + i]!.X).toEqual(perturbInputs(given, perturbation).X);
    // Asked for later, with the same inputs.
    expect((await reference(request)).X).toEqual(given.X);
  });

  it('tells each of runs that are asked for at once of a mistake', async () => {
    const reference = await host("export const reference = () => { throw new TypeError('no'); };");
    const request = { inputs, dimensions: { N: 5 }, rounding: 'exact' as const };
    const ended = await Promise.allSettled([reference(request), reference(request)]);
    expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it('keeps inputs for the next run, each name by itself, whatever the module does to its own', async () => {
    const reference = await host(`
      export const reference = ({ X, I }, { N }) => {
        const Y = X.map((x, i) => x + I[i % I.length]);
        if (N === 2) { X.fill(7); I.fill(7); }
        return { Y, S: Float64Array.of(X[0], I[0]) };
      };`);
    const [X, I] = [Float64Array.of(1, 2), Float64Array.of(10)];
    const perturbation = { names: ['X'], run: 0, relative: 2 ** -20 };
    const outputs = async (inputs: ReferenceTensors, N: number, perturbed = false) =>
      (await reference({
        ...{ inputs, dimensions: { N }, rounding: 'exact' as const },
        ...(perturbed && { perturbation }),
      }))!.Y;
    expect(await outputs({ X, I }, 1)).toEqual(Float64Array.of(11, 12));
    // A perturbed run may lose what it was given, and nothing else.
    expect(await outputs({ X, I }, 2, true)).not.toEqual(Float64Array.of(11, 12));
    expect(await outputs({ X, I }, 1)).toEqual(Float64Array.of(11, 12));
    expect(await outputs({ X: Float64Array.of(3, 4, 5), I }, 1)).toEqual(Float64Array.of(13, 14, 15));
    expect(await outputs({ X, I: Float64Array.of(20) }, 1)).toEqual(Float64Array.of(21, 22));
    expect(await errorOf(reference({ inputs: { X, I }, dimensions: { N: 2 }, rounding: 'exact' }))).toMatchObject({
      code: 'reference-changed-input',
    });
  });

  it('gives what it would give here, to the bit, under every rounding', async () => {
    const reference = await host(`
      export const reference = ({ X }, { N }, round) => ({ Y: X.map((x) => round(Math.exp(x / N) / 3)), Z: X });`);
    const values = Float64Array.from({ length: 2000 }, (_, i) => Math.sin(i) * 10);
    const request = { inputs: { X: values }, dimensions: { N: 7 } };
    const exact = await reference({ ...request, rounding: 'exact' });
    expect(exact.Y).toEqual(values.map((x) => Math.exp(x / 7) / 3));
    expect(exact.Z).toEqual(values);
    const half = await reference({ ...request, rounding: 'f16' });
    expect(half.Y).toEqual(values.map((x) => Math.f16round(Math.exp(x / 7) / 3)));
    const few = await reference({ ...request, rounding: { significantBits: 53 - 29 } });
    expect(few.Y).toEqual(values.map((x) => Math.fround(Math.exp(x / 7) / 3)));
    const odd = await run(await host('export const reference = ({ X }) => ({ X });'));
    expect([...odd.X!].map((x) => (Object.is(x, -0) ? '-0' : `${x}`))).toEqual(['1', '-2', 'NaN', '-0', '1e+300']);
  });

  it('has room for products, whose arrays outlast the run', async () => {
    const reference = await host(`
      export const reference = ({ X }, { N }, round, float64Room) => {
        const room = float64Room(3 * N);
        const [a, b, Y] = [room.array(N), room.array(N), room.array(1)];
        a.set(X);
        b.set(X);
        room.multiplyByTransposed(...[Y, a, b].map((values) => ({ values, rows: 1, columns: values.length })));
        return { Y };
      };`);
    const request = { dimensions: { N: 3 }, rounding: 'exact' as const, inputs: { X: Float64Array.of(1, 2, 3) } };
    // In one message, so that the second run is over before the first one's outputs go.
    const perturbation = { names: ['X'], run: 0, relative: 2 ** -4 };
    const [exact, changed] = await Promise.all([reference(request), reference({ ...request, perturbation })]);
    expect(exact.Y).toEqual(Float64Array.of(14));
    expect(changed.Y).not.toEqual(Float64Array.of(14));
  });

  it('may import files that lie beside it, and print', async () => {
    await writeFile(join(folder, 'factor.ts'), 'export const factor: number = 3;');
    await writeFile(join(folder, 'table.json'), '[10]');
    const reference = await host(`
      import { factor } from './factor.ts';
      import table from './table.json' with { type: 'json' };
      console.log('printed');
      export const reference = ({ X }) => ({ Y: X.map((x) => x * factor + table[0]) });`);
    expect((await run(reference)).Y![0]).toBe(13);
  });

  it.each([
    ["import { readFileSync } from 'node:fs';", 'node:fs'],
    ["import fs from 'fs';", 'fs'],
    ["import { DatabaseSync } from 'node:sqlite';", 'node:sqlite'],
    ["import net from 'node:net';", 'node:net'],
    ["import koffi from 'koffi';", 'koffi'],
    ["import '../elsewhere.ts';", '../elsewhere.ts'],
    ["import '/etc/hostname';", '/etc/hostname'],
    ["import 'data:text/javascript,export default 1';", 'data:text/javascript,export default 1'],
    ["import './other.cjs';", ''],
  ])('refuses %s', async (line, specifier) => {
    await writeFile(join(folder, 'other.cjs'), 'module.exports = 1;');
    const reference = await host(`${line}\nexport const reference = ({ X }) => ({ Y: X });`);
    const details = await errorOf(run(reference));
    expect(details).toMatchObject({ code: 'reference-failed', file: expect.stringContaining(folder) });
    expect(details.message).toContain(`${specifier}' is refused: a reference may import only files of its own folder`);
  });

  describe('finds no way out of it', () => {
    const ways = [
      ['process', 'process is not defined'],
      ['globalThis.process', 'undefined'],
      ['fetch', 'fetch is not defined'],
      ['WebSocket', 'WebSocket is not defined'],
      ['require', 'require is not defined'],
      ['new Function("return 1")', 'Code generation from strings disallowed for this context'],
      ['console._stderr', 'undefined'],
      ['Math.erf(1)', 'Math.erf is not a function'],
    ] as const;
    let run: (place: number) => Promise<ReferenceTensors>;
    beforeAll(async () => {
      run = await oneOf(
        ways.map(
          ([expression]) => `{
            let said = 'allowed';
            try { const value = ${expression}; if (value === undefined) said = 'undefined'; }
            catch (error) { said = error.message; }
            return { Y: Float64Array.from(said, (letter) => letter.charCodeAt(0)) };
          }`,
        ),
      );
    });

    it.each(ways.map((way, place) => [...way, place] as const))('%s: %s', async (_, said, place) => {
      expect(String.fromCharCode(...(await run(place)).Y!)).toBe(said);
    });
  });

  it('finds an import at run time refused as well', async () => {
    const reference = await host(`
      let said = '';
      try { await import('node:child_process'); said = 'allowed'; } catch (error) { said = error.message; }
      export const reference = () => ({ Y: Float64Array.from(said, (letter) => letter.charCodeAt(0)) });`);
    expect(String.fromCharCode(...(await run(reference)).Y!)).toContain("'node:child_process' is refused");
  });
});

/** Ids of the processes whose command line names this. */
const processesOf = (text: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
    } catch {
      return false; // It has ended.
    }
  });

/** And not the wall around it. */
const isNode = (pid: string): boolean => readlinkSync(`/proc/${pid}/exe`) === realpathSync(process.execPath);

describe('a run that has to wait', () => {
  const slowly = (milliseconds: number, what: string) =>
    `const start = performance.now(); while (performance.now() < start + ${milliseconds}) {} ${what}`;

  it('waits while the first process loads, and gets no other', async () => {
    const reference = await host(slowly(1500, 'export const reference = ({ X }) => ({ Y: X });'));
    const runs = Promise.all([run(reference), run(reference), run(reference)]);
    await sleep(1200); // It still loads, however long its start took.
    expect(processesOf(`reference-${count - 1}.ts`).filter(isNode)).toHaveLength(1);
    await runs;
  });

  it('gets another process while the first one computes', async () => {
    const reference = await host(`export const reference = ({ X }) => { ${slowly(600, 'return { Y: X };')} };`, {
      limits: { processes: 2 },
    });
    await Promise.all([run(reference), run(reference), run(reference)]);
    expect(processesOf(`reference-${count - 1}.ts`).filter(isNode)).toHaveLength(2);
  });
});

describe('runs of some rows', () => {
  const ROWS = 'export const referenceRows = ({ X }, { N }, round, { Y }) => ({ Y: Y.map((row) => X[row]) });';

  it('go on in all processes, if the reference can compute single rows', async () => {
    const whole = 'export const reference = ({ X }) => ({ Y: X });';
    const [able, unable] = await Promise.all([
      host(whole + ROWS, { limits: { processes: 3 } }),
      host(whole, { limits: { processes: 3 } }),
    ]);
    expect(await Promise.all([able.sideBySide!(), unable.sideBySide!()])).toEqual([3, 1]);
    // Asking starts no second process for the run that follows.
    await run(unable);
    expect(processesOf(`reference-${count - 1}.ts`).filter(isNode)).toHaveLength(1);
  });

  it('go on in one process where there is one only, which is not asked', async () => {
    const reference = await host('throw new Error();', { limits: { processes: 1 } });
    expect(await reference.sideBySide!()).toBe(1);
  });

  it('tell of a module that cannot be loaded', async () => {
    const reference = await host('throw new Error("no");', { limits: { processes: 2 } });
    expect((await errorOf(reference.sideBySide!())).code).toBe('reference-failed');
  });
});

describe('runs on sparse inputs', () => {
  /** Rows of one element, of X times the first of W, as fast as they come. */
  const TEXT = `
    export const reference = () => { throw new Error('the whole'); };
    export const referenceRows = ({ X, W }, { N }, round, { Y }) => {
      if (N === 13) throw new TypeError('unlucky');
      return { Y: Float64Array.from(Y, (row) => round(X[row] * W[0])), size: Float64Array.of(X.length) };
    };`;
  const LENGTH = 2 ** 30 + 2 ** 20;
  const pieces = Array.from({ length: 8 }, (_, i) => ({
    at: Math.floor((LENGTH - 9000) / 7) * i,
    values: Float64Array.from({ length: 9000 }, (_, j) => Math.sin(i + j)),
  }));
  const sparse: SparseTensors = { X: { length: LENGTH, pieces } };
  const places = pieces.flatMap(({ at }) => [at, at + 8999]);
  const wanted = Float64Array.from(pieces.flatMap(({ values }) => [3 * values[0]!, 3 * values[8999]!]));
  const request: ReferenceRun = {
    inputs: { W: Float64Array.of(3) },
    sparse,
    dimensions: { N: 1 },
    rounding: 'exact',
    rows: { Y: Uint32Array.from(places) },
  };

  it('give rows of inputs larger than the memory that a process may take', async (context) => {
    if (!maps(LENGTH)) context.skip('this machine maps less');
    const reference = await host(TEXT, { limits: { memoryBytes: 400 * 1024 ** 2 } });
    const { Y, size } = await reference(request);
    expect(Y).toEqual(wanted);
    expect(size![0]).toBe(LENGTH);
    // Between the pieces.
    const rows = { Y: Uint32Array.from(places.slice(1, -1), (place, i) => place + (i % 2 === 0 ? 1 : -1)) };
    expect((await reference({ ...request, rows })).Y).toEqual(new Float64Array(14));
  });

  it('perturb pieces as they would be in the whole, however many are asked for at once', async (context) => {
    if (!maps(LENGTH)) context.skip('this machine maps less');
    const reference = await host(TEXT, { limits: { processes: 1, memoryBytes: 400 * 1024 ** 2 } });
    // Some go in one message, others are too long for that.
    const short = { X: { length: LENGTH, pieces: pieces.slice(0, 1) } };
    for (const [given, count] of [
      [sparse, 16],
      [short, 2],
    ] as const) {
      const rows = { Y: Uint32Array.from(places.slice(0, count)) };
      const perturbations = [0, 1].map((run) => ({ names: ['X', 'W'], run, relative: 2 ** -20 }));
      const runs = [undefined, ...perturbations].map((perturbation) =>
        reference({ ...request, sparse: given, rows, perturbation }),
      );
      const [own, ...changed] = (await Promise.all(runs)).map(({ Y }) => Y);
      expect(own).toEqual(wanted.slice(0, count));
      for (const [i, perturbation] of perturbations.entries()) {
        // Multipliers begin again after 65,537: a shorter input has the same ones.
        const shorter = pieces.map(({ at, values }) => ({ at: at % 65_537, values }));
        const expected = shorter.slice(0, count / 2).flatMap((piece) => {
          const X = lazilyMapped({ length: 80_000, pieces: [piece] });
          const { X: x, W: w } = perturbInputs({ X, W: request.inputs.W! }, perturbation);
          return [x![piece.at]! * w![0]!, x![piece.at + 8999]! * w![0]!];
        });
        expect(changed[i]).toEqual(Float64Array.from(expected));
        expect(changed[i]).not.toEqual(own);
      }
    }
  });

  it('keep none for the next run, beside others that are kept', async () => {
    const reference = await host(`
      let last;
      export const reference = ({ X, W }) => ({ Y: Float64Array.of(X.length, X[0], W[0]) });
      export const referenceRows = ({ X, W }) => {
        const before = last?.length ?? -1;
        last = X;
        return { Y: Float64Array.of(before, X[0], X[2], W[0]) };
      };`);
    const ask = async (values: readonly number[]) => {
      const X = { length: 3, pieces: [{ at: 0, values: Float64Array.from(values) }] };
      return [...(await reference({ ...request, sparse: { X } })).Y!];
    };
    expect(await ask([1, 2, 3])).toEqual([-1, 1, 3, 3]);
    expect(await ask([4])).toEqual([0, 4, 0, 3]);
    const dense = { ...request.inputs, X: Float64Array.of(7, 8) };
    expect([...(await reference({ inputs: dense, dimensions: { N: 1 }, rounding: 'exact' })).Y!]).toEqual([2, 7, 3]);
  });

  it('tell of a mistake, and of a machine that does not map so many elements, and go on', async () => {
    const reference = await host(TEXT, { limits: { processes: 1 } });
    const short: ReferenceRun = { ...request, sparse: { X: { length: 2 ** 20, pieces: pieces.slice(0, 1) } } };
    const rows = { Y: Uint32Array.of(0) };
    const before = await reference({ ...short, rows });
    expect(await errorOf(reference({ ...short, dimensions: { N: 13 }, rows }))).toMatchObject({
      code: 'reference-failed',
      message: 'the reference of scale throws TypeError: unlucky',
      path: expect.stringMatching(/^4:/),
    });
    const endless = { X: { length: 2 ** 50, pieces: [] } };
    const details = await errorOf(reference({ ...short, sparse: endless, rows }));
    expect(details).toMatchObject({ code: 'reference-memory', received: expect.stringMatching(/N=1$/) });
    expect(details.message).toContain("can't be given its inputs: X of 1125899906842624 elements");
    expect(await reference({ ...short, rows })).toEqual(before);
    expect(processesOf(`reference-${count - 1}.ts`).filter(isNode)).toHaveLength(1);
  });

  it('are taken by references that compute single rows, if only for such inputs', async () => {
    const whole = 'export const reference = ({ X }) => ({ Y: X });';
    const rows = '() => ({ Y: new Float64Array(1) });';
    const of = async (text: string) => {
      const reference = await host(whole + text, { limits: { processes: 2 } });
      return [await reference.takesSparse!(), await reference.sideBySide!()];
    };
    expect(await of('')).toEqual([false, 1]);
    expect(await of(`export const referenceRows = ${rows}`)).toEqual([true, 2]);
    expect(await of(`export const referenceRowsOfSparse = ${rows}`)).toEqual([true, 1]);
  });

  it('are refused where the program takes none, which says so before it starts', async () => {
    const { sparseRowsFunction: _, ...other } = nodeProgram;
    const reference = await host('throw new Error();', { program: other });
    expect(await reference.takesSparse!()).toBe(false);
    await expect(reference(request)).rejects.toThrow('a run on sparse inputs');
  });
});

describe('a reference behind a network wall', () => {
  it('has a network of its own', async (context) => {
    if ((await networkWall()).name === 'none') context.skip('this system offers no wall');
    const reference = await host('export const reference = ({ X }) => ({ Y: X });');
    await run(reference);
    const pids = processesOf(`reference-${count - 1}.ts`);
    const networks = pids.map((pid) => readlinkSync(`/proc/${pid}/ns/net`));
    expect(networks).toContainEqual(expect.stringMatching(/^net:/));
    expect(networks.at(-1)).not.toBe(readlinkSync('/proc/self/ns/net'));
  });

  it('is ended with its wall', async () => {
    const reference = await host('export const reference = () => { for (;;); };', { limits: { timeoutMs: 500 } });
    expect((await errorOf(run(reference))).code).toBe('reference-timed-out');
    await expect.poll(() => processesOf(`reference-${count - 1}.ts`)).toEqual([]);
  });
});

describe('a reference that is at fault', () => {
  describe('which', () => {
    const faults = [
      ['throws', '{ throw new RangeError("no such row"); }', 'reference-failed', 'throws RangeError: no such row'],
      ['is no function of Math', '({ Y: X.map((x) => Math.erf(x)) })', 'reference-failed', 'throws TypeError'],
      ['changes its input', '({ Y: X.fill(-1) })', 'reference-changed-input', "changes its input 'X'"],
      ['returns nothing', '{}', 'reference-output', 'returns undefined'],
      ['returns an array', '({ Y: [1, 2] })', 'reference-output', "returns 'Y' as Array"],
      ['returns float32', '({ Y: new Float32Array(5) })', 'reference-output', "returns 'Y' as Float32Array"],
      ['is asynchronous', 'Promise.resolve({ Y: X })', 'reference-output', 'returns a promise'],
    ] as const;
    let run: (place: number) => Promise<ReferenceTensors>;
    beforeAll(async () => {
      run = await oneOf(faults.map(([, body]) => body));
    });

    it.each(faults.map((fault, place) => [...fault, place] as const))('%s', async (what, _, code, words, place) => {
      const details = await errorOf(run(place));
      expect(details).toMatchObject({ code, hint: expect.any(String), expected: expect.any(String) });
      expect(details.message).toContain(`the reference of scale ${words}`);
      if (what === 'is no function of Math') expect(details.message).toContain('Math.erf is not a function');
    });
  });

  it('is told where it threw', async () => {
    const reference = await host('export const reference = () => {\n  throw new Error("here");\n};');
    expect(await errorOf(run(reference))).toMatchObject({ path: '2:9', received: 'Error: here for N=5' });
  });

  it('that hangs is ended at the limit, and the next run has another process', async () => {
    const reference = await host('export const reference = ({ X }) => { while (X[0] > 0) {} return { Y: X }; };', {
      limits: { timeoutMs: 700 },
    });
    expect(await errorOf(run(reference))).toMatchObject({
      code: 'reference-timed-out',
      message: 'the reference of scale did not finish within 0.7 s',
    });
    const fine = { X: Float64Array.of(-1) };
    expect(await reference({ inputs: fine, dimensions: {}, rounding: 'exact' })).toEqual({ Y: fine.X });
  });

  it('that never finishes loading is ended, and the limit is told', async () => {
    const reference = await host('await new Promise(() => {});\nexport const reference = ({ X }) => ({ Y: X });', {
      limits: { loadTimeoutMs: 900 },
    });
    expect((await errorOf(run(reference))).message).toBe('the reference of scale did not finish within 0.9 s');
  });

  it('that throws later is told what it threw', async () => {
    const reference = await host(`
      setTimeout(() => { throw new RangeError('later'); }, 0);
      export const reference = ({ X }) => ({ Y: X });`);
    await run(reference).catch(() => {});
    expect(await errorOf(run(reference).then(() => run(reference)))).toMatchObject({
      code: 'reference-ended',
      received: 'ended with exit code 1; RangeError: later',
    });
  });

  it.each([
    ['a machine', 64, 0, 32],
    ['a container', 512, 8, 4],
    ['a container without a limit', 64, 2 ** 34, 32],
    ['a small machine', 1, 0, 1],
  ])('may take half of the memory of %s', (_, machine, container, allowed) => {
    const usable = usableMemoryBytes(machine * 2 ** 30, container * 2 ** 30);
    expect(referenceMemoryBytes(usable)).toBe(allowed * 2 ** 30);
  });

  it('that takes too much memory is ended', async () => {
    const reference = await host(
      'const kept = []; export const reference = () => { for (;;) kept.push(new Float64Array(4e6).fill(1)); };',
      { limits: { memoryBytes: 300 * 1024 ** 2 } },
    );
    expect(await errorOf(run(reference))).toMatchObject({ code: 'reference-memory', expected: 'at most 300 MiB' });
  });
});

describe('a run that is not needed any more', () => {
  it('ends at once', async () => {
    const reference = await host('export const reference = () => { for (;;); };');
    const controller = new AbortController();
    const running = run(reference, controller.signal);
    const outcome = expect(running).rejects.toThrow('stop it');
    await sleep(300);
    controller.abort(new Error('stop it'));
    await outcome;
  });

  it('does not end the runs beside it', async () => {
    const reference = await host(
      `
      export const reference = ({ X }) => { while (X[0] === 0) {} return { Y: X }; };`,
      { limits: { processes: 2 } },
    );
    const controller = new AbortController();
    const hangs = reference({
      inputs: { X: Float64Array.of(0) },
      dimensions: {},
      rounding: 'exact',
      signal: controller.signal,
    });
    const outcome = expect(hangs).rejects.toThrow('enough');
    // The process is taken: each of these waits for a second one.
    const others = await Promise.all([run(reference), run(reference)]);
    expect(others.map(({ Y }) => Y![0])).toEqual([1, 1]);
    controller.abort(new Error('enough'));
    await outcome;
  });
});

it('is not started before it is allowed', async () => {
  const reference = await host('export const reference = ({ X }) => ({ Y: X });', {
    beforeStart: () => {
      throw new Error('ask first');
    },
  });
  await expect(run(reference)).rejects.toThrow('ask first');
});
