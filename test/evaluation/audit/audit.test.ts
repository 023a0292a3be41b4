import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { inProcess, type ReferenceModule } from '../../../src/core/call-reference.ts';
import type { Problem } from '../../../src/core/problem.ts';
import { parseProblemFile } from '../../../src/core/schemas/parse-files.ts';
import { type AuditReport, auditProblem } from '../../../src/evaluation/audit/audit.ts';
import { attentionProblem, attentionShape } from '../../support/attention-problem.ts';
import { longTestOf } from '../../support/sampling/long-tests.ts';
import { sampled } from '../../support/sampling/matrix.ts';
import { toyProblem } from '../../support/toy-problem.ts';

const outcomesOf = (report: AuditReport, id: string): string[] =>
  report.mutants.find((mutant) => mutant.id === id)!.results.map(({ outcome }) => outcome);

const SMALL = [{ dimensions: attentionShape({ B: 1, H: 1, S: 65, D: 32, causal: 1 }), generators: ['normal'] }];

/** Too few bits of fp32 operands; three quarters of a sum, everywhere and only at the timed sizes. */
const OPERANDS = ['operands-of-11-bits', 'operands-of-13-bits'];
const SAMPLED = ['sampled', 'extrapolated'].flatMap((id) => [id, `timed:${id}`]);

/** Problems for which no generic wrong kernel happens to be right. */
const EVERY_MUTANT_IS_WRONG = ['gemm', 'layernorm', 'softmax', 'transpose'];

describe('bundled problems', () => {
  const bundled = [
    [
      'softmax',
      undefined,
      ['no-maximum', 'timed:no-maximum', 'masks-dropped', ...OPERANDS, 'timed:operands-of-13-bits', ...SAMPLED],
    ],
    [
      'layernorm',
      undefined,
      ['one-pass-variance', 'timed:one-pass-variance', 'subnormals-flushed', 'infinities-dropped', ...SAMPLED],
    ],
    [
      'gemm',
      'f32',
      [
        ...['subnormals-flushed', 'infinities-dropped', ...OPERANDS, ...SAMPLED],
        ...['timed:operands-of-11-bits', 'timed:operands-of-13-bits'],
      ],
    ],
    ['gemm', 'f16', ['low-precision', 'last-element-dropped', 'subnormals-flushed', 'infinities-dropped', ...SAMPLED]],
    ['gemm', 'bf16', ['low-precision', 'last-element-dropped', 'infinities-dropped', ...SAMPLED]],
    ...[1, 2].flatMap((seed) => [
      ['scan', undefined, ['first-tile-only', 'last-element-dropped', 'shifted-by-one', ...SAMPLED], seed] as const,
      ['histogram', undefined, ['first-tile-only', 'last-element-dropped', ...SAMPLED], seed] as const,
      ['reduction', undefined, ['subnormals-flushed', 'infinities-dropped', ...OPERANDS, ...SAMPLED], seed] as const,
    ]),
    [
      'transpose',
      undefined,
      [
        ...['subnormals-flushed', 'masks-dropped', 'infinities-dropped', 'nans-dropped', ...OPERANDS],
        'timed:operands-of-13-bits',
      ],
    ],
  ] as const;
  sampled('audits of bundled problems', bundled, { oneIn: 8, placeOf: ([name]) => `problems/${name}` })(
    '%s in %s catches what its kernels may get wrong',
    async (name, dtype, wrong, seed = 1) => {
      const folder = new URL(`../../../problems/${name}`, import.meta.url).pathname;
      const module = (await import(`${folder}/reference.ts`)) as ReferenceModule;
      const path = `${folder}/problem.json`;
      const file = parseProblemFile(readFileSync(path, 'utf8'), path, () => dtype);
      const report = await auditProblem({
        problem: { folder, file, reference: inProcess(module.reference, module) },
        seed,
      });
      expect(report).toMatchObject({ letThrough: [], falseAlarms: [], blindChecks: [] });
      const caught = report.mutants.filter(({ verdict }) => verdict === 'caught').map(({ id }) => id);
      if (EVERY_MUTANT_IS_WRONG.includes(name)) expect(caught).toHaveLength(report.mutants.length);
      expect(caught).toEqual(
        expect.arrayContaining([...wrong, 'one-shape-only', 'stored-answers', 'limits-leave-one-shape']),
      );
    },
  );
});

describe('attention', () => {
  longTestOf(import.meta.filename)('lets no wrong kernel through', async () => {
    const report = await auditProblem({ problem: attentionProblem(), seed: 1 });
    expect(report).toMatchObject({ ok: true, letThrough: [], falseAlarms: [] });
    expect(report.mutants.map(({ id }) => id)).toEqual([
      'zeros',
      'constant',
      'stored-answers',
      'gain',
      'negated',
      'one-element-off',
      'one-nan',
      'transposed',
      'row-off-by-one',
      'last-row-zero',
      'low-precision',
      'subnormals-flushed',
      'one-shape-only',
      'no-maximum',
      'other-corner',
      'heads-in-turn',
      'copy:Q',
      'copy:K',
      'copy:V',
      'ignored-input:Q',
      'ignored-input:K',
      'ignored-input:V',
      'first-tile-only',
      'last-tile-dropped',
      'last-element-dropped',
      'sampled',
      'extrapolated',
      'last-tile-stale',
      'shifted-by-one',
      'mean',
      'flipped:causal',
      'flipped:bottomRight',
      'flipped:lse',
      'timed:no-maximum',
      'timed:other-corner',
      'timed:heads-in-turn',
      'timed:sampled',
      'timed:extrapolated',
      'limits-leave-one-shape',
    ]);
    expect(JSON.parse(JSON.stringify(report))).toEqual(report);
  });

  it('would let mean(V) through without a check that sees the scores', async () => {
    const flat = { Q: { kind: 'constant', value: 0 }, V: { kind: 'normal' } } as const;
    const checkShapes = [{ dimensions: attentionShape({ B: 1, H: 1, S: 65, D: 32, causal: 0 }), generators: ['flat'] }];
    const report = await auditProblem({ problem: attentionProblem({ generatorSets: { flat }, checkShapes }), seed: 1 });
    // Inputs that no check needs are a hole. The others are no mistakes where no score tells a key from another.
    expect(report.letThrough).toEqual(expect.arrayContaining(['ignored-input:Q', 'ignored-input:K']));
    const equivalent = report.mutants.filter(({ verdict }) => verdict === 'equivalent').map(({ id }) => id);
    expect(equivalent).toEqual(expect.arrayContaining(['shifted-by-one', 'mean']));
    expect(outcomesOf(report, 'mean')).toEqual(['same']);
    expect(outcomesOf(report, 'row-off-by-one')[0]).toBe('same'); // one head, and every row alike
  });

  it('would let dropped keys through under a tolerance that does not scale', async () => {
    const loose = { kind: 'conditioned', constant: 40, unit: 'f16', terms: 'S' } as const;
    const report = await auditProblem({
      problem: attentionProblem({ comparison: loose, checkShapes: SMALL }),
      seed: 1,
    });
    expect(report.ok).toBe(false);
    expect(report.letThrough).toContain('low-precision');
    expect(report.letThrough).toContain('gain');
    expect(report.letThrough).not.toContain('one-nan');
  });

  sampled(
    'seeds of an audit',
    Array.from({ length: 20 }, (_, seed) => seed),
    { oneIn: 8 },
  )('is not alarmed by the correctly rounded oracle, seed %i', async (seed) => {
    const report = await auditProblem({ problem: attentionProblem({ checkShapes: SMALL }), seed });
    expect(report.falseAlarms).toEqual([]);
  });
});

describe('an audit', () => {
  it('drops the last tile exactly where the reduced axis is a dimension of its own', async () => {
    // y[r] = Σ_c x[r, c] over C columns: dropping the last 32 of 64 columns leaves the sum of the first 32.
    const problem: Problem = {
      ...toyProblem({
        inputs: { X: { dtype: 'f32', shape: ['R', 'C'], access: 'in' } },
        outputs: { Y: { dtype: 'f32', shape: ['R'], access: 'out' } },
        reducedAxis: { input: 'X', axis: 1 },
        comparison: { kind: 'exact' },
        workloads: [{ name: 'as checked', dimensions: { R: 1, C: 64 } }],
        checkShapes: [{ dimensions: { R: 1, C: 64 } }],
        generatorSets: { tail: { X: { kind: 'constant', value: 1 } } },
      }),
      reference: inProcess(({ X }, { R, C }) => ({
        Y: Float64Array.from({ length: R! }, (_, r) => X!.subarray(r * C!, (r + 1) * C!).reduce((a, b) => a + b, 0)),
      })),
    };
    const report = await auditProblem({ problem, seed: 1 });
    expect(outcomesOf(report, 'last-tile-dropped')).toEqual(['caught']);
    expect(outcomesOf(report, 'last-tile-stale')).toEqual(['same']); // all columns are alike
    const equivalent = report.mutants.filter(({ verdict }) => verdict === 'equivalent').map(({ id }) => id);
    expect(equivalent).toEqual(expect.arrayContaining(['last-tile-stale', 'shifted-by-one']));
    expect(outcomesOf(report, 'constant')).toEqual(['not-applicable']); // a single sum
    expect(outcomesOf(report, 'transposed')).toEqual(['not-applicable']);
    expect(outcomesOf(report, 'row-off-by-one')).toEqual(['not-applicable']);
    expect(report.letThrough).not.toContain('one-element-off');
  });

  it('takes no order for a mistake along an axis that is said to be symmetric', async () => {
    const sums: Problem = {
      ...toyProblem({
        inputs: { X: { dtype: 'f32', shape: ['R', 'C'], access: 'in' } },
        outputs: { Y: { dtype: 'f32', shape: ['R'], access: 'out' } },
        comparison: { kind: 'exact' },
        checkShapes: [{ dimensions: { R: 3, C: 64 } }],
        generatorSets: { small: { X: { kind: 'index-range', low: 0, high: 9 } } },
      }),
      reference: inProcess(({ X }, { R, C }) => ({
        Y: Float64Array.from({ length: R! }, (_, r) => X!.subarray(r * C!, (r + 1) * C!).reduce((a, b) => a + b, 0)),
      })),
    };
    const auditWith = (reducedAxis: Problem['file']['reducedAxis']): Promise<AuditReport> =>
      auditProblem({ problem: { ...sums, file: { ...sums.file, reducedAxis: reducedAxis! } }, seed: 1 });
    const verdictOf = (report: AuditReport) => report.mutants.find(({ id }) => id === 'shifted-by-one')!.verdict;
    expect(verdictOf(await auditWith({ input: 'X', axis: 1 }))).toBe('equivalent');
    expect(verdictOf(await auditWith({ input: 'X', axis: 1, symmetric: true }))).toBe('not-applicable');
  });

  it('says which mistakes do not apply', async () => {
    const report = await auditProblem({
      problem: toyProblem({ checkShapes: [{ dimensions: { R: 1, C: 1 } }] }),
      seed: 1,
    });
    const mutant = report.mutants.find(({ id }) => id === 'one-nan')!;
    expect(mutant.verdict).toBe('caught');
    expect(report.mutants.map(({ id }) => id)).not.toContain('mean'); // no reducedAxis in problem.json
  });

  it('reports false alarms: here, a reference that gives another answer each time', async () => {
    const seen = new Set<string>();
    const problem = toyProblem();
    const moody: Problem = {
      ...problem,
      reference: async (run) => {
        const inputs = run.inputs.X!.join();
        const mood = seen.has(inputs) ? 1 : 0;
        seen.add(inputs);
        return { Y: (await problem.reference(run)).Y!.map((y) => y + mood) };
      },
    };
    const report = await auditProblem({ problem: moody, seed: 1 });
    expect(report.ok).toBe(false);
    expect(report.falseAlarms).toEqual(report.checks);
  });

  it('stops when aborted', async () => {
    const signal = AbortSignal.abort(new Error('interrupted'));
    await expect(auditProblem({ problem: toyProblem(), seed: 1, signal })).rejects.toThrow('interrupted');
  });
});
