import type { Dimensions, ReferenceTensors } from '../../src/core/problem.ts';

type Round = (value: number) => number;

/** Where a kernel rounds. Each hook is applied to one intermediate of online softmax. */
export interface AttentionRounding {
  /** Running sum of Q·K products. */
  score: Round;
  /** exp(score − maximum) as it enters P·V. */
  weight: Round;
  /** Running sum of the weights. */
  weightSum: Round;
  /** Running sum of weight · V. */
  output: Round;
}

export const FP32: AttentionRounding = {
  score: Math.fround,
  weight: Math.fround,
  weightSum: Math.fround,
  output: Math.fround,
};

const KEY_TILE = 32;

/** Attention as a FlashAttention kernel computes it: key tiles, running maximum and sum, rescaling, fp16 result. */
export const hostAttention = (
  { Q, K, V }: ReferenceTensors,
  { B, H, S, D, causal }: Dimensions,
  rounding: AttentionRounding,
): Float64Array => {
  const output = new Float64Array(Q!.length);
  const scale = Math.fround(1 / Math.sqrt(D!));
  for (let row = 0; row < B! * H! * S!; row++) {
    const [query, matrix] = [row % S!, (row - (row % S!)) * D!];
    const keyCount = causal ? query + 1 : S!;
    const o = new Float64Array(D!);
    let [maximum, sum] = [Number.NEGATIVE_INFINITY, 0];
    for (let tile = 0; tile < keyCount; tile += KEY_TILE) {
      const scores: number[] = [];
      for (let key = tile; key < Math.min(keyCount, tile + KEY_TILE); key++) {
        let dot = 0;
        for (let d = 0; d < D!; d++) dot = rounding.score(dot + Q![row * D! + d]! * K![matrix + key * D! + d]!);
        scores.push(Math.fround(dot * scale));
      }
      const newMaximum = Math.max(maximum, ...scores);
      const correction = Math.fround(Math.exp(maximum - newMaximum));
      maximum = newMaximum;
      sum = rounding.weightSum(sum * correction);
      for (let d = 0; d < D!; d++) o[d] = rounding.output(o[d]! * correction);
      for (const [i, score] of scores.entries()) {
        const exact = Math.fround(Math.exp(score - maximum));
        const weight = rounding.weight(exact);
        sum = rounding.weightSum(sum + exact);
        for (let d = 0; d < D!; d++) o[d] = rounding.output(o[d]! + weight * V![matrix + (tile + i) * D! + d]!);
      }
    }
    for (let d = 0; d < D!; d++) output[row * D! + d] = Math.f16round(Math.fround(o[d]! / sum));
  }
  return output;
};
