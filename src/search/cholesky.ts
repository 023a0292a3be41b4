/** Pivots below this leave nothing of the digits. */
const SMALLEST_PIVOT = 1e-12;

/**
 * In-place Cholesky factor of a symmetric matrix, given as its lower triangle row by row; undefined if it is not positive
 * definite.
 */
export function factorise(matrix: Float64Array, count: number): Float64Array | undefined {
  for (let column = 0; column < count; column += 1) {
    for (let row = column; row < count; row += 1) {
      let sum = matrix[row * count + column]!;
      for (let k = 0; k < column; k += 1) sum -= matrix[row * count + k]! * matrix[column * count + k]!;
      if (row > column) matrix[row * count + column] = sum / matrix[column * count + column]!;
      else if (sum > SMALLEST_PIVOT) matrix[row * count + row] = Math.sqrt(sum);
      else return undefined;
    }
  }
  return matrix;
}

/** x of L · x = values, for the lower triangle L. */
export function solveLower(factor: Float64Array, count: number, values: Readonly<ArrayLike<number>>): Float64Array {
  const solution = new Float64Array(count);
  for (let row = 0; row < count; row += 1) {
    let sum = values[row]!;
    for (let k = 0; k < row; k += 1) sum -= factor[row * count + k]! * solution[k]!;
    solution[row] = sum / factor[row * count + row]!;
  }
  return solution;
}

/** x of Lᵀ · x = values, for the lower triangle L. */
export function solveUpper(factor: Float64Array, count: number, values: Readonly<ArrayLike<number>>): Float64Array {
  const solution = new Float64Array(count);
  for (let row = count - 1; row >= 0; row -= 1) {
    let sum = values[row]!;
    for (let k = row + 1; k < count; k += 1) sum -= factor[k * count + row]! * solution[k]!;
    solution[row] = sum / factor[row * count + row]!;
  }
  return solution;
}
