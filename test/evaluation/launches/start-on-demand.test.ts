import { expect, it } from 'vitest';
import { startOnDemand } from '../../../src/evaluation/launches/start-on-demand.ts';

it('starts once for each key, and again where that failed', async () => {
  const started: string[] = [];
  const values = startOnDemand(async (key: string) => {
    started.push(key);
    if (started.length === 1) throw new Error('not yet');
    return key.toUpperCase();
  });
  await expect(values.get('a')).rejects.toThrow('not yet');
  expect(await values.started()).toEqual([]);
  expect(await Promise.all([values.get('a'), values.get('a'), values.get('b')])).toEqual(['A', 'A', 'B']);
  expect(started).toEqual(['a', 'a', 'b']);
  expect(await values.started()).toEqual(['A', 'B']);
});
