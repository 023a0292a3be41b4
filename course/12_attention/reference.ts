import type { ReferenceFunction } from 'warpsmith';

const D = 64;

/** O[h, i] = Σ_j softmax_j(Q[h, i] · K[h, j] / √64) V[h, j], in float64. */
export const reference: ReferenceFunction = (inputs, dimensions, round) => {
  const { H, S } = dimensions as Record<'H' | 'S', number>;
  const { Q, K, V } = inputs as Record<'Q' | 'K' | 'V', Float64Array>;
  const O = new Float64Array(H * S * D);
  const scores = new Float64Array(S);
  for (let row = 0; row < H * S; row++) {
    const head = row - (row % S);
    for (let j = 0; j < S; j++) {
      let dot = 0;
      for (let d = 0; d < D; d++) dot = round(dot + round(Q[row * D + d]! * K[(head + j) * D + d]!));
      scores[j] = round(dot / 8);
    }
    const largest = scores.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    const weights = scores.map((score) => round(Math.exp(round(score - largest))));
    const total = weights.reduce((sum, weight) => round(sum + weight), 0);
    for (let d = 0; d < D; d++) {
      let sum = 0;
      for (let j = 0; j < S; j++) sum = round(sum + round(weights[j]! * V[(head + j) * D + d]!));
      O[row * D + d] = round(sum / total);
    }
  }
  return { O };
};
