import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { narrowFolder } from './narrowed.ts';

const ROW_SUM = fileURLToPath(new URL('../../examples/row-sum', import.meta.url));

/**
 * A private copy of `examples/row-sum` for tests of what becomes of verdicts: its only workload has 128 rows and columns instead of 1,024, and no
 * confirmation draws shapes of millions of elements.
 *
 * @param most elements that a shape may have.
 */
export function smallRowSum(place: string, most = 20_000): string {
  const problem = join(place, 'row-sum');
  cpSync(ROW_SUM, problem, { recursive: true });
  narrowFolder(problem, [`rows * columns <= ${most}`], { name: 'square', dimensions: { rows: 128, columns: 128 } });
  return problem;
}
