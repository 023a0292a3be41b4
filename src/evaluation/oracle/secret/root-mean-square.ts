/** Of the finite values; 1 if all are zero. */
export function rootMeanSquare(values: Float64Array): number {
  let [sum, count] = [0, 0];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    sum += value * value;
    count += 1;
  }
  return Math.sqrt(sum / count) || 1;
}
