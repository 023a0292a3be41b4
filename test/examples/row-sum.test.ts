import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { reference } from '../../examples/row-sum/reference.ts';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';

const FOLDER = 'examples/row-sum/01_warp_per_row';

/** The first whole JSON document of a guide. */
const firstDocument = async (guide: string): Promise<unknown> => {
  const text = await readFile(`docs/guides/${guide}`, 'utf8');
  const block = /```json\n(\{\n {2}"\$schema"[^`]*)```/.exec(text)?.[1];
  return JSON.parse(block ?? 'null');
};

describe('the row-sum example', () => {
  it('loads, and the guides show it as it is', async () => {
    const { kernel, problem } = await loadKernel(FOLDER);
    expect(kernel.file.name).toBe('01_warp_per_row');
    expect(problem.file.rungs).toEqual(['01_warp_per_row']);
    const [kernelJson, problemJson] = [`${FOLDER}/kernel.json`, 'examples/row-sum/problem.json'];
    expect(await firstDocument('writing-a-kernel.md')).toEqual(JSON.parse(await readFile(kernelJson, 'utf8')));
    expect(await firstDocument('writing-a-problem.md')).toEqual(JSON.parse(await readFile(problemJson, 'utf8')));
  });

  it('sums rows', () => {
    const inputs = { x: Float64Array.of(1, 2, 3, 4, 5, 6) };
    expect([...reference(inputs, { rows: 2, columns: 3 }, (value) => value).y!]).toEqual([6, 15]);
  });
});
