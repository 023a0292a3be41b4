import { createModelAuthor, type ModelAuthorParts } from '../../../../src/app/author/model/model-author.ts';
import { openSpending, type SpendingLimits } from '../../../../src/app/author/model/spending.ts';
import type { EvaluationRequest } from '../../../../src/core/evaluation.ts';
import type { EndpointLimits } from '../../../../src/models/sdk-endpoint.ts';
import { openEndpoint } from '../../../../src/models/sdk-endpoint.ts';
import type { OptimizeOptions, RunResult } from '../../../../src/optimizer/optimize.ts';
import { NOTHING_KEPT, type RunEvent, UNLIMITED } from '../../../../src/store/events.ts';
import type { Exchange } from '../../../../src/store/transcript.ts';
import {
  finding,
  kernel,
  problem,
  runLoop,
  type ScriptedEvaluator,
  scriptedEvaluator,
  type Verdict,
} from '../../../optimizer/fakes.ts';
import { type FakeModel, fakeModel, type Reply } from '../../../support/fake-model.ts';

/** A kernel.cu of the fake problem, told apart by its body. */
export const source = (body: string): string =>
  `__global__ void scale(const float* x, float* y) { y[threadIdx.x] = ${body} * x[threadIdx.x]; }\n`;

/** An answer in the form that is asked for. */
export function answer({
  parts,
  hypothesis = 'fewer instructions',
  levers = ['body'],
  ratio = '1.5',
}: {
  parts: string;
  hypothesis?: string;
  levers?: readonly string[];
  ratio?: string;
}): string {
  return `Let me think.\n<answer>\n<hypothesis>${hypothesis}</hypothesis>\n<levers>${levers.join('\n')}</levers>\n<predicted_ratio>${ratio}</predicted_ratio>\n${parts}\n</answer>\n`;
}

export const file = (text: string, name = 'kernel.cu'): string => `<file file="${name}">\n${text}\n</file>`;
export const edit = (search: string, replace: string, name = 'kernel.cu'): string =>
  `<edit file="${name}">\n<search>\n${search}\n</search>\n<replace>\n${replace}\n</replace>\n</edit>`;

/** A whole kernel.cu as an answer. */
export const kernelAnswer = (body: string, said: Partial<Parameters<typeof answer>[0]> = {}): Reply => ({
  text: answer({ parts: file(source(body)), ...said }),
});

export interface ModelRun {
  readonly result: RunResult;
  readonly events: RunEvent[];
  readonly exchanges: Exchange[];
  readonly waits: number[];
  readonly fake: FakeModel;
  readonly evaluator: ScriptedEvaluator;
}

export interface ModelRunRequest {
  readonly script: Parameters<typeof fakeModel>[0];
  readonly protocol?: 'anthropic' | 'openai-compatible';
  /** What the evaluator says of sources that contain a text; of the others that they take 1000 ns. */
  readonly verdicts?: Readonly<Record<string, Verdict>>;
  readonly limits?: Partial<EndpointLimits>;
  readonly spending?: Partial<SpendingLimits>;
  readonly author?: Partial<ModelAuthorParts>;
  readonly options?: Partial<OptimizeOptions>;
  readonly seen?: (request: EvaluationRequest) => void;
}

export const KEY = 'sk-test-1234567890';

/** A run whose kernels come from a fake model over HTTP; a script judges them. Nothing compiles. */
export async function modelRun(request: ModelRunRequest): Promise<ModelRun> {
  const { script, protocol = 'openai-compatible', verdicts = {}, limits, spending, author, options, seen } = request;
  await using fake = await fakeModel(script);
  const endpoint = await openEndpoint({
    model: `${protocol}:fake`,
    endpoint: fake.url,
    environment: { ANTHROPIC_API_KEY: KEY, WARPSMITH_MODEL_KEY: KEY },
    limits,
  });
  const evaluator = scriptedEvaluator((_name, asked) => {
    seen?.(asked);
    const { candidate } = asked;
    const text = Object.values(candidate.kernel.sources).join('\n');
    const found = Object.entries(verdicts).find(([part]) => text.includes(part));
    return { ns: 1000, findings: [finding('bank-conflicts'), finding('parallelism')], ...found?.[1] };
  });
  const first = kernel('01_first', {
    parameters: undefined,
    steps: [{ function: 'scale', grid: ['N'], block: [64], arguments: [{ buffer: 'X' }, { buffer: 'Y' }] }],
  });
  const exchanges: Exchange[] = [];
  const waits: number[] = [];
  const { result, events } = await runLoop({
    evaluator,
    rungs: [first],
    budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 6 },
    author: createModelAuthor({
      endpoint,
      mode: 'insight',
      problem,
      problemText: 'y = 2x',
      priors: { patterns: [], costs: [] },
      spending: openSpending({ maximumTokens: 1e6, discounts: false, ...spending }),
      check: async () => undefined,
      recorded: [],
      goesOn: true,
      record: (exchange) => void exchanges.push(exchange),
      wait: async (ms) => void waits.push(ms),
      ...author,
    }),
    ...options,
  });
  return { result, events, exchanges, waits, fake, evaluator };
}
