import type { Dimensions, Problem } from '../../src/core/problem.ts';
import { compareOutput } from '../../src/evaluation/oracle/compare.ts';
import { prepareCheck } from '../../src/evaluation/oracle/expectation-cache.ts';
import type { Expectations } from '../../src/evaluation/oracle/expectations.ts';
import { type AttentionRounding, FP32, hostAttention } from './host-attention.ts';

/** How honest kernels compute: all in fp32, or with a softmax's weights in the input precision of tensor cores. */
export const HONEST_ARITHMETIC = {
  fp32: FP32,
  'fp16 weights': { ...FP32, weight: Math.f16round },
} as const satisfies Readonly<Record<string, AttentionRounding>>;

/** One check of attention: its inputs follow from these. */
interface HonestCheck {
  readonly seed: number;
  readonly dimensions: Dimensions;
  readonly generatorSet: string;
}

/** Whether attention as an honest kernel computes it passes at first, and with the tolerances that count before a result is called wrong. */
export async function judgeHonestly(
  problem: Problem,
  { seed, dimensions, generatorSet }: HonestCheck,
  arithmetic: keyof typeof HONEST_ARITHMETIC,
): Promise<{ passes: boolean; passesInTheEnd: boolean }> {
  const prepared = prepareCheck({ problem, seed, dimensions, generatorSet });
  const got = hostAttention(prepared.inputs.tensors, dimensions, HONEST_ARITHMETIC[arithmetic]);
  const buffer = prepared.buffers.find(({ name }) => name === 'O')!;
  const isWithin = (expectations: Expectations): boolean => compareOutput(buffer, expectations.get('O')!, got).passed;
  const passes = isWithin(await prepared.expectations());
  const { surerExpectations } = prepared;
  const passesInTheEnd = passes || (surerExpectations !== undefined && isWithin(await surerExpectations()));
  return { passes, passesInTheEnd };
}
