import { expect, it } from 'vitest';
import { evaluateKernel } from '../../src/app/evaluate.ts';
import { listDevices } from '../../src/devices/open-device.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { sampled } from '../support/sampling/matrix.ts';

const IDS = [...DEVICE_SPECS.keys()];
/** The slower before the faster, where DRAM binds. */
const COMPARED = ['l4', 'a100', 'h200'];
/** The first and the last of them run always. */
const ENDS = ['l4', 'h200'];
/** Predicted, by device. */
const medianNs = new Map<string, number>();

it('every spec is listed as a virtual device', () => {
  expect(listDevices().map(({ id }) => id)).toEqual(expect.arrayContaining(IDS.map((id) => `virtual:${id}`)));
});

sampled('specs', IDS, { oneIn: IDS.length, always: (id) => ENDS.includes(id) })(
  'virtual:%s compiles, checks, counts and predicts a kernel',
  async (id) => {
    const { status, timing, counters } = await evaluateKernel({
      target: 'examples/row-sum/02_warp_per_row',
      device: `virtual:${id}`,
      parameters: {},
      checks: 'usual',
      seed: 1,
      threads: 1,
    });
    expect(status).toBe('passed');
    expect(timing).toMatchObject({ kind: 'predicted' });
    expect(timing!.medianNs).toBeGreaterThan(timing!.vetoNs);
    medianNs.set(id, timing!.medianNs);
    expect(counters!.launches[0]!.sampledCache).toBeDefined();
  },
);

it('an A100 is faster than an L4 where DRAM binds, and an H200 than either', () => {
  const judged = COMPARED.filter((id) => medianNs.has(id));
  expect(judged).toEqual(expect.arrayContaining(ENDS));
  const times = judged.map((id) => medianNs.get(id)!);
  expect(times).toEqual(times.toSorted((a, b) => b - a));
});
