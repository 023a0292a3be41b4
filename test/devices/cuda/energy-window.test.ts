import { expect, test } from 'vitest';
import { type EnergyMeter, energyWindow } from '../../../src/devices/cuda/worker/energy-window.ts';

const TICK_MS = 100;
const BATCH_MS = 5;
const WATTS = 400;

/** A counter that is brought up to date at every tick, read in the middle of one, and work of a known length. */
function meter(change: Partial<EnergyMeter> = {}): EnergyMeter {
  let ms = 37;
  return {
    nowMs: () => ms,
    // W · ms are mJ.
    readMillijoules: () => Math.floor(ms / TICK_MS) * TICK_MS * WATTS,
    work() {
      ms += BATCH_MS;
      return 10;
    },
    ...change,
  };
}

test('a window goes from tick to tick: joules and runs are of the same time', () => {
  const window = energyWindow(meter(), 1000);
  if (typeof window === 'string') throw new Error(window);
  const { joules, seconds, replays } = window;
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(joules / seconds).toBeCloseTo(WATTS, 0);
  // One batch is all that either end may be off by.
  expect(Math.abs(joules / replays - (WATTS * BATCH_MS) / 10 / 1000)).toBeLessThan((WATTS / 1000) * 0.5 * 0.01);
});

test('a counter that is missing, or stands still, is told instead of zero joules', () => {
  expect(energyWindow(meter({ readMillijoules: () => undefined }), 1000)).toBe(
    'NVML has no energy counter for this GPU',
  );
  expect(energyWindow(meter({ readMillijoules: () => 7 }), 1000)).toBe('the energy counter stood still for 1000 ms');
});

test('a reading that fails makes no tick', () => {
  let readings = 0;
  // Every second reading fails: no two neighbours tell a tick.
  const readMillijoules = () => (readings++ % 2 === 0 ? 7 : undefined);
  expect(energyWindow(meter({ readMillijoules }), 1000)).toBe('the energy counter stood still for 1000 ms');
});
