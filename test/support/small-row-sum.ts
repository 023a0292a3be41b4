import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { narrowFolder } from './narrowed.ts';

const ROW_SUM = fileURLToPath(new URL('../../examples/row-sum', import.meta.url));

/**
 * Sizes of whole tiles and those of a check shape that are none: a thorough verification draws hundreds of shapes where there are as many. What
 * kernels ask about rows and columns still goes both ways.
 */
const FEW_SIZES = ['rows % 32 == 0 || rows == 37', 'columns % 32 == 0 || columns == 259'];

/**
 * A private copy of `examples/row-sum` for tests of what becomes of verdicts: its only workload has 128 rows and columns instead of 1,024, and no
 * confirmation draws shapes of millions of elements.
 *
 * @param most elements that a shape may have.
 * @param limits of sizes, besides. Without them, there are few.
 */
export function smallRowSum(place: string, most = 20_000, limits: readonly string[] = FEW_SIZES): string {
  const problem = join(place, 'row-sum');
  cpSync(ROW_SUM, problem, { recursive: true });
  const workload = { name: 'square', dimensions: { rows: 128, columns: 128 } };
  narrowFolder(problem, [`rows * columns <= ${most}`, ...limits], workload);
  return problem;
}
