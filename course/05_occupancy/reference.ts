import type { ReferenceFunction } from 'warpsmith';

/** y[c] = Σ_r w[r] · x[r, c], in float64. */
export const reference: ReferenceFunction = (inputs, dimensions, round) => {
  const { rows, columns } = dimensions as Record<'rows' | 'columns', number>;
  const { x, w } = inputs as Record<'x' | 'w', Float64Array>;
  const y = new Float64Array(columns);
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) y[c] = round(y[c]! + round(w[r]! * x[r * columns + c]!));
  }
  return { y };
};
