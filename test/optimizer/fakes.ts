import { aboutRequest } from '../../src/core/about-request.ts';
import { inProcess } from '../../src/core/call-reference.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { DeviceSpec } from '../../src/core/device-spec.ts';
import type { Evaluation, EvaluationRequest, Evaluator } from '../../src/core/evaluation.ts';
import type { Finding } from '../../src/core/finding.ts';
import type { Candidate, Kernel, KernelFile } from '../../src/core/kernel.ts';
import type { Problem } from '../../src/core/problem.ts';
import type { FindingId } from '../../src/core/vocabulary.ts';
import type { Pattern, PatternMove } from '../../src/diagnosis/pattern.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import type { Answer, Author } from '../../src/optimizer/authoring/author.ts';
import { type OptimizeOptions, optimize, type RunResult } from '../../src/optimizer/optimize.ts';
import { NOTHING_KEPT, type RunEvent, UNLIMITED } from '../../src/store/events.ts';

export const spec: DeviceSpec = DEVICE_SPECS.get('l4')!;

/** A problem of one dimension whose rungs are given by the test. */
export const problem: Problem = {
  folder: 'problems/scale',
  file: {
    schemaVersion: 1,
    name: 'scale',
    description: 'y = 2x',
    dimensions: { N: { description: 'length' } },
    inputs: { X: { dtype: 'f32', shape: ['N'], access: 'in' } },
    outputs: { Y: { dtype: 'f32', shape: ['N'], access: 'out' } },
    flop: 'N',
    minimumFlop: 'N',
    minimumReadBytes: '4 * N',
    workloads: [{ name: 'n1024', dimensions: { N: 1024 } }],
    checkShapes: [],
    comparison: { kind: 'exact' },
    determinism: 'bitwise',
    start: '01_first',
    rungs: ['01_first', '02_second', '03_third'],
  },
  reference: inProcess((inputs) => ({ Y: inputs.X!.map((value) => 2 * value) })),
};

export function kernel(name: string, overrides: Partial<KernelFile> = {}): Kernel {
  return {
    folder: `problems/scale/${name}`,
    sources: { 'kernel.cu': `// ${name}\n` },
    file: {
      schemaVersion: 1,
      name,
      description: name,
      problem: '../problem.json',
      source: { kind: 'cuda', files: ['kernel.cu'] },
      parameters: { TILE: { values: [16, 32, 64, 128], default: 32 } },
      steps: [
        {
          function: 'scale',
          grid: ['ceilDiv(N, TILE)'],
          block: ['TILE'],
          arguments: [{ buffer: 'X' }, { buffer: 'Y' }],
        },
      ],
      ...overrides,
    },
  };
}

export function finding(id: FindingId, estimatedSpeedup = 2): Finding {
  return {
    id,
    title: id,
    estimatedSpeedup,
    arithmetic: '1 + 1',
    evidence: [{ counter: 'conflicts per request', value: 3, threshold: 1, comparison: 'above' }],
    advice: '',
  };
}

/** A pattern that proposes the same moves whenever its finding fires. */
export function pattern(id: string, trigger: FindingId, moves: PatternMove[] | Pattern['propose']): Pattern {
  const propose = typeof moves === 'function' ? moves : () => moves;
  return { id, title: `pattern ${id}`, source: 'test', triggers: [trigger], propose };
}

export const tile = (value: number, expectedGain = 1.5, confidence = 0.5): PatternMove => ({
  kind: 'parameter',
  parameter: 'TILE',
  from: 32,
  value,
  expectedGain,
  confidence,
  reason: `try TILE ${value}`,
});

export const rung = (name: string, expectedGain = 2, confidence = 0.5): PatternMove => ({
  kind: 'rung',
  rung: name,
  expectedGain,
  confidence,
  reason: `try ${name}`,
});

/** What the scripted evaluator says about a candidate. */
export type Verdict = Partial<Pick<Evaluation, 'status' | 'reason' | 'failedCheck' | 'findings' | 'coverage'>> & {
  ns?: number;
  attainableNs?: number;
};

/** `01_first TILE=32`: how scripts name candidates. */
export const nameOf = ({ kernel: { file }, parameters }: Candidate): string =>
  [file.name, ...Object.entries(parameters).map(([name, value]) => `${name}=${value}`)].join(' ');

export interface ScriptedEvaluator extends Evaluator {
  /** Names of the candidates judged, in order, confirmations left out. */
  readonly judged: string[];
  /** The same with confirmations. */
  readonly all: string[];
}

/** Judges by a script; `*` is the answer for candidates that have none of their own. */
export function scriptedEvaluator(
  script:
    | Readonly<Record<string, Verdict>>
    | ((name: string, request: EvaluationRequest) => Verdict | Promise<Verdict>),
): ScriptedEvaluator {
  const judged: string[] = [];
  const all: string[] = [];
  return {
    judged,
    all,
    async evaluate(request) {
      const name = nameOf(request.candidate);
      all.push(name);
      if (!request.thorough) judged.push(name);
      const verdict = typeof script === 'function' ? await script(name, request) : (script[name] ?? script['*']);
      if (!verdict) throw new Error(`the script says nothing about ${name}`);
      return evaluationOf(request, verdict);
    },
    async close() {},
  };
}

function evaluationOf(request: EvaluationRequest, verdict: Verdict): Evaluation {
  const { ns = 1000, status = 'passed' } = verdict;
  return {
    ...aboutRequest(request, { id: 'virtual:l4', kind: 'virtual', name: 'NVIDIA L4 (virtual)' }),
    status,
    findings: verdict.findings ?? (status === 'passed' ? [finding('bank-conflicts')] : []),
    elapsedMs: { compile: 0, verify: 0, time: 0, total: 0 },
    ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
    ...(verdict.coverage === undefined ? {} : { coverage: verdict.coverage }),
    ...(verdict.failedCheck === undefined ? {} : { failedCheck: verdict.failedCheck }),
    ...(status === 'passed'
      ? {
          timing: {
            kind: 'predicted',
            medianNs: ns,
            intervalNs: [ns * 0.7, ns * 1.5],
            vetoNs: 1,
            attainableNs: verdict.attainableNs ?? 2,
            bindingResource: 'shared',
          },
        }
      : {}),
  };
}

/** Runs the loop with fakes; returns what happened. */
export async function runLoop(
  overrides: Partial<OptimizeOptions> & Pick<OptimizeOptions, 'evaluator'>,
): Promise<{ result: RunResult; events: RunEvent[] }> {
  const events: RunEvent[] = [];
  const first = overrides.rungs?.[0] ?? kernel('01_first');
  const result = await optimize({
    problem,
    workloads: [{ name: 'n1024', dimensions: { N: 1024 }, cache: 'hot', weight: 1 }],
    request: { target: 'problems/scale' },
    ablation: false,
    exploring: false,
    device: { id: 'virtual:l4', kind: 'virtual', name: 'NVIDIA L4 (virtual)' },
    spec,
    start: makeCandidate(first, {}),
    rungs: [first],
    patterns: [],
    seed: 1,
    budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 20 },
    vetoBound: { ns: 1, arithmetic: '1 FLOP ÷ 1 GFLOP/s = 1 ns' },
    emit: (event) => void events.push(event),
    clockMs: () => 0,
    ...overrides,
  });
  return { result, events };
}

export const ofType = <T extends RunEvent['type']>(
  events: readonly RunEvent[],
  type: T,
): Extract<RunEvent, { type: T }>[] =>
  events.filter((event): event is Extract<RunEvent, { type: T }> => event.type === type);

/** Answers of an author in their order; the last one repeats. Each cost a token. */
export function scriptedAuthor(...answers: readonly Answer[]): Author {
  let asked = 0;
  return {
    name: 'scripted',
    mode: 'insight',
    async ask() {
      asked += 1;
      const answer = answers[Math.min(asked, answers.length) - 1]!;
      if (answer.kind === 'ended') return { answer };
      const tokens = { input: 1, cacheRead: 0, cacheWrite: 0, output: 0, isEstimate: false };
      return {
        asked: { request: asked, purpose: 'write', tokens, money: null, tokensUsed: asked, moneyUsed: null },
        answer,
      };
    },
  };
}

/** A written kernel whose body is `text`. */
export const written = (text: string, predictedRatio: number | null = null): Answer => ({
  kind: 'candidate',
  candidate: makeCandidate({ ...kernel(text), sources: { 'kernel.cu': `${text}();\n` } }, {}),
  hypothesis: text,
  levers: [],
  predictedRatio,
  files: [],
});
