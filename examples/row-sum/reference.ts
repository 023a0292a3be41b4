import type { ReferenceFunction } from 'warpsmith';

/** y[r] = Σ_c x[r, c], in float64. */
export const reference: ReferenceFunction = (inputs, { rows, columns }, round) => {
  const x = inputs.x!;
  const y = new Float64Array(rows!);
  for (let r = 0; r < rows!; r++) {
    let sum = 0;
    for (let c = 0; c < columns!; c++) sum = round(sum + x[r * columns! + c]!);
    y[r] = sum;
  }
  return { y };
};
