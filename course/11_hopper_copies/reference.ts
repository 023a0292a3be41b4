import type { ReferenceFunction } from 'warpsmith';

const COLUMNS = 1024;

/** d[r] = Σ_c x[r, c] · y[r, c], in float64. */
export const reference: ReferenceFunction = (inputs, { rows }, round) => {
  const { x, y } = inputs as Record<'x' | 'y', Float64Array>;
  const d = new Float64Array(rows!);
  for (let i = 0; i < rows! * COLUMNS; i++) {
    const r = Math.floor(i / COLUMNS);
    d[r] = round(d[r]! + round(x[i]! * y[i]!));
  }
  return { d };
};
