import { expect, it } from 'vitest';
import type { LaunchCounters, LineCounters } from '../../src/core/counters.ts';
import { placeIn, where } from '../../src/diagnosis/where.ts';

const line = (file: string, number: number, barriers: number): LineCounters =>
  ({ location: { file, line: number }, barriers }) as LineCounters;

const launch = (functionName: string, ...lines: LineCounters[]): LaunchCounters =>
  ({ functionName, lines }) as unknown as LaunchCounters;

it.each(['attention', 'tile<64, (8)>', 'ns::scale'])('the place of %s is read as it was written', (name) => {
  const hot = where(launch(name, line('a.cu', 3, 1), line('my tile.cuh', 12, 7)), ({ barriers }) => barriers);
  expect(placeIn(`${hot}: 7 of 9`)).toEqual({ file: 'my tile.cuh', line: 12 });
  expect(placeIn(where(launch(name)))).toBeUndefined();
});
