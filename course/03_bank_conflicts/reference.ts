import type { ReferenceFunction } from 'warpsmith';

/** Y[c, r] = X[r, c]. */
export const reference: ReferenceFunction = (inputs, { rows, columns }, round) => {
  const X = inputs.X!;
  const Y = new Float64Array(columns! * rows!);
  for (let r = 0; r < rows!; r++) {
    for (let c = 0; c < columns!; c++) Y[c * rows! + r] = round(X[r * columns! + c]!);
  }
  return { Y };
};
