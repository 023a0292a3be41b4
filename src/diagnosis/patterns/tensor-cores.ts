import type { Pattern } from '../pattern.ts';
import { movesOr, rungs } from './moves.ts';

/** Matrix products on the matrix unit. */
export const tensorCores: Pattern = {
  id: 'tensor-cores',
  title: 'Compute half-precision products on tensor cores',
  source: 'L4 ladder: WMMA family 870 → 98.5 µs; mma.sync reaches 99 % of FA2 on A100',
  triggers: ['tensor-cores-unused'],
  propose: movesOr(
    'Write the products with mma.sync.m16n8k16 (fp16 inputs, fp32 accumulators): no rung of this ladder does yet.',
    rungs(0.7, 'its products run on the tensor cores'),
  ),
};
