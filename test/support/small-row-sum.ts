import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROW_SUM = fileURLToPath(new URL('../../examples/row-sum', import.meta.url));

/**
 * A private copy of `examples/row-sum` for tests of what becomes of verdicts: its only workload has 256 rows and columns instead of 1,024, and no
 * confirmation draws shapes of millions of elements.
 */
export function smallRowSum(place: string): string {
  const problem = join(place, 'row-sum');
  cpSync(ROW_SUM, problem, { recursive: true });
  const path = join(problem, 'problem.json');
  const file = JSON.parse(readFileSync(path, 'utf8'));
  file.workloads = [{ name: 'square', dimensions: { rows: 256, columns: 256 } }];
  file.limits = ['rows * columns <= 300000'];
  writeFileSync(path, JSON.stringify(file, null, 2));
  return problem;
}
