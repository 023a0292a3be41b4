// Problems whose checks were weakened in one place: the wrong kernel that this place is for passes, and `audit` says so.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { inProcess, type ReferenceModule } from '../../../src/core/call-reference.ts';
import type { Problem, ProblemFile } from '../../../src/core/problem.ts';
import { parseProblemFile } from '../../../src/core/schemas/parse-files.ts';
import { type AuditReport, auditProblem } from '../../../src/evaluation/audit/audit.ts';
import { auditDocument } from '../../../src/reports/documents/audit.ts';
import { printTerminal } from '../../../src/reports/print/terminal.ts';
import { toyProblem } from '../../support/toy-problem.ts';

const W: ProblemFile['inputs'][string] = {
  ...{ dtype: 'f32', shape: ['C'], access: 'in' },
  generator: { kind: 'positive', low: 0.5, high: 1.5 },
};

/** A matrix times a vector in fp32: the toy whose weaknesses these tests choose. */
const products = (changes: Partial<ProblemFile> = {}): Problem => ({
  ...toyProblem({
    inputs: {
      X: { dtype: 'f32', shape: ['R', 'C'], access: 'in' },
      W,
    },
    outputs: { Y: { dtype: 'f32', shape: ['R'], access: 'out' } },
    reducedAxis: { input: 'X', axis: 1, symmetric: true },
    comparison: { kind: 'conditioned', constant: 2, unit: 'f32', terms: 'C' },
    workloads: [{ name: 'long', dimensions: { R: 4, C: 16_384 } }],
    checkShapes: [{ dimensions: { R: 5, C: 1 }, generators: ['normal'] }, { dimensions: { R: 37, C: 67 } }],
    generatorSets: { normal: { X: { kind: 'normal' } }, alternating: { X: { kind: 'alternating' } } },
    ...changes,
  }),
  reference: inProcess(({ X, W }, { R, C }) => ({
    Y: Float64Array.from({ length: R! }, (_, r) => productOf(X!, W!, r, C!)),
  })),
});

const productOf = (x: Float64Array, w: Float64Array, row: number, columns: number): number =>
  x.subarray(row * columns, (row + 1) * columns).reduce((sum, value, column) => sum + value * w[column]!, 0);

async function bundled(name: string, weaken: (file: ProblemFile) => Partial<ProblemFile>): Promise<Problem> {
  const folder = new URL(`../../../problems/${name}`, import.meta.url).pathname;
  const module = (await import(`${folder}/reference.ts`)) as ReferenceModule;
  const path = `${folder}/problem.json`;
  const file = parseProblemFile(readFileSync(path, 'utf8'), path);
  return { folder, file: { ...file, ...weaken(file) }, reference: inProcess(module.reference, module) };
}

/** Ordinary inputs only, at short rows and at the timed one. */
const ordinaryInputsOnly = ({ generatorSets, checkShapes, inputs }: ProblemFile): Partial<ProblemFile> => ({
  generatorSets: { normal: generatorSets!.normal! },
  checkShapes: checkShapes.slice(0, 4).map((shape) => ({ ...shape, generators: ['normal'] })),
  inputs: Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, { ...input, domain: undefined }])),
});

const audit = (problem: Problem, seed = 1): Promise<AuditReport> => auditProblem({ problem, seed });

describe('the toy, before it is weakened,', () => {
  it.each([1, 2, 3, 4, 5])('lets nothing through, with seed %i', async (seed) => {
    expect(await audit(products(), seed)).toMatchObject({ ok: true, letThrough: [], falseAlarms: [], blindChecks: [] });
  });

  it('is judged at its timed shape with all inputs, check by check', async () => {
    const { sight } = await audit(products());
    expect(sight.filter(({ isTimed }) => isTimed).map(({ check }) => check)).toEqual([
      'R=4, C=16384 · normal inputs',
      'R=4, C=16384 · alternating inputs',
    ]);
    expect(sight.every(({ caught, blind }) => caught > 0 && blind === null)).toBe(true);
  });
});

describe('operands of few bits in long sums of one input', () => {
  /** Row sums: the toy without its second input. */
  const sums = (changes: Partial<ProblemFile> = {}): Problem => ({
    ...products({
      inputs: { X: { dtype: 'f32', shape: ['R', 'C'], access: 'in' } },
      comparison: { kind: 'conditioned', constant: 1, unit: 'f32', terms: 'C' },
      ...changes,
    }),
    reference: inProcess(({ X }, { R, C }) => ({
      Y: Float64Array.from({ length: R! }, (_, r) => X!.subarray(r * C!, (r + 1) * C!).reduce((a, b) => a + b, 0)),
    })),
  });
  const verdictOf = (report: AuditReport): string | undefined =>
    report.mutants.find(({ id }) => id === 'timed:operands-of-13-bits')?.verdict;
  const long = (C: number, R = 4): Partial<ProblemFile> => ({ workloads: [{ name: 'long', dimensions: { R, C } }] });
  const positive = { X: { kind: 'positive' } } as const;

  it.each([1, 2, 3, 4, 5])('are caught where sums cancel, with seed %i', async (seed) => {
    const report = await audit(sums(long(4096, 64)), seed);
    expect(verdictOf(report)).toBe('caught');
    expect(report.letThrough).toEqual([]);
  });

  it('are no mistake where honest additions keep as few bits', async () => {
    const report = await audit(sums({ ...long(65_536), generatorSets: { positive } }));
    expect(verdictOf(report)).toBe('equivalent');
    expect(report.letThrough).toEqual([]);
    expect(printTerminal(auditDocument(report), { width: 300 })).toContain('err no more than honest additions may');
  });

  it('slip where the tolerance is wider than additions need', async () => {
    const loose = { kind: 'conditioned', constant: 16, unit: 'f32', terms: 'C' } as const;
    const report = await audit(sums({ ...long(4096), comparison: loose }));
    expect(report.letThrough).toContain('timed:operands-of-13-bits');
  });

  it('slip through a tolerance of another kind, too', async () => {
    const report = await audit(sums({ ...long(4096), comparison: { kind: 'allclose', atol: 0.05, rtol: 1e-3 } }));
    expect(report.letThrough).toContain('timed:operands-of-13-bits');
  });
});

describe('audit names the wrong kernel that passes', () => {
  const positive: Partial<ProblemFile> = { generatorSets: { positive: { X: { kind: 'positive' } } } };
  const shapes = (...generators: string[]): ProblemFile['checkShapes'] => [
    { dimensions: { R: 5, C: 1 }, generators },
    { dimensions: { R: 37, C: 67 }, generators },
  ];

  const cases: readonly [
    what: string,
    problem: () => Problem | Promise<Problem>,
    through: string[],
    caught: string[],
  ][] = [
    [
      'long sums of one sign hide operands in tf32',
      () => products({ ...positive, checkShapes: shapes('positive') }),
      ['timed:operands-of-11-bits', 'timed:operands-of-13-bits'],
      ['operands-of-11-bits', 'operands-of-13-bits'],
    ],
    [
      'inputs that no seed changes fit answers stored for another one',
      () =>
        products({
          generatorSets: { fixed: { X: { kind: 'constant', value: 3 }, W: { kind: 'constant', value: 1 } } },
          checkShapes: shapes('fixed'),
        }),
      ['stored-answers'],
      ['zeros', 'negated'],
    ],
    [
      'a relative tolerance bears a sum of three quarters that guesses the rest',
      () =>
        products({
          ...positive,
          checkShapes: shapes('positive'),
          comparison: { kind: 'allclose', atol: 0, rtol: 0.2 },
        }),
      ['extrapolated', 'timed:extrapolated'],
      ['sampled', 'timed:sampled'],
    ],
    [
      'an absolute tolerance is larger than the timed sums',
      () =>
        products({
          workloads: [{ name: 'one', dimensions: { R: 9, C: 1 } }],
          comparison: { kind: 'allclose', atol: 8, rtol: 0 },
        }),
      ['limits-leave-one-shape'],
      ['one-nan'],
    ],
    [
      'infinities and subnormals of the domain are in no check',
      () => {
        const X: ProblemFile['inputs'][string] = {
          ...{ dtype: 'f32', shape: ['R', 'C'], access: 'in' },
          domain: ['infinity', '-infinity', 'subnormal', 'nan'],
        };
        const timed = { R: 37, C: 67 };
        return products({
          inputs: { X, W },
          workloads: [{ name: 'short', dimensions: timed }],
          checkShapes: [{ dimensions: timed, generators: ['normal', 'alternating'] }],
        });
      },
      ['infinities-dropped', 'masks-dropped', 'nans-dropped', 'subnormals-flushed'],
      ['sampled', 'operands-of-13-bits'],
    ],
    [
      'ordinary inputs do not need the maximum',
      () => bundled('softmax', ordinaryInputsOnly),
      ['no-maximum', 'timed:no-maximum'],
      ['sampled', 'operands-of-11-bits'],
    ],
    [
      'ordinary inputs do not need two passes',
      () => bundled('layernorm', ordinaryInputsOnly),
      ['one-pass-variance', 'timed:one-pass-variance'],
      ['sampled', 'ignored-input:gamma'],
    ],
  ];

  it.each(cases)('where %s', async (_, problem, through, caught) => {
    const report = await audit(await problem());
    const verdicts = Object.fromEntries(report.mutants.map(({ id, verdict }) => [id, verdict]));
    for (const id of caught) expect(verdicts, id).toMatchObject({ [id]: 'caught' });
    expect(report.letThrough).toEqual(expect.arrayContaining(through));
    expect(report.ok).toBe(false);
    const text = printTerminal(auditDocument(report));
    for (const id of through) {
      expect(text).toMatch(new RegExp(`slipped +${id}\\b`));
      const accepting = report.sight.filter(({ accepted }) => accepted.includes(id)).length;
      const slipped = report.mutants
        .find((mutant) => mutant.id === id)!
        .results.filter(({ outcome }) => outcome === 'slipped');
      expect(accepting).toBe(slipped.length);
    }
  });

  it('a timed shape that no inputs see is blind; one kind that sees is enough', async () => {
    // At 16,384 columns the mean is a hundredth of what it is at 67.
    const means = (generatorSets: ProblemFile['generatorSets']): Problem => ({
      ...products({ generatorSets, comparison: { kind: 'allclose', atol: 0.02, rtol: 0 }, toleranceShare: 0.9 }),
      reference: inProcess(({ X, W }, { R, C }) => ({
        Y: Float64Array.from({ length: R! }, (_row, r) => productOf(X!, W!, r, C!) / C!),
      })),
    });
    const normal = { X: { kind: 'normal' } } as const;
    const blind = await audit(means({ normal }));
    expect(blind.blindChecks).toEqual(['R=4, C=16384 · normal inputs']);
    expect(blind.letThrough).toContain('limits-leave-one-shape');
    const large = { X: { kind: 'large', magnitude: 1000 } } as const;
    const seeing = await audit(means({ normal, large }));
    expect(seeing.blindChecks).toEqual([]);
    expect(seeing.mutants.find(({ id }) => id === 'limits-leave-one-shape')).toMatchObject({ verdict: 'caught' });
    expect(printTerminal(auditDocument(seeing))).toContain('Blind, though other inputs see there');
  });
});
