/** What a window needs of its surroundings. */
export interface EnergyMeter {
  /** The board's energy counter in mJ; undefined if it has none. */
  readMillijoules(): number | undefined;
  /** Some milliseconds of work, done when it returns. @returns how often the work was done. */
  work(): number;
  nowMs(): number;
}

/** What was done between two ticks of the energy counter. */
export interface CountedWindow {
  readonly joules: number;
  readonly seconds: number;
  readonly replays: number;
}

/** The counter ticks every 20 to 100 ms, by the board. One that stands still for so long counts nothing. */
export const LONGEST_TICK_MS = 1000;

/**
 * Repeats work from one tick of the counter to another, at least `leastMs` later. A tick is seen by as much too late as one
 * call of `work` takes, which is the error at either end.
 *
 * @returns why there is no window, if there is none.
 */
export function energyWindow(meter: EnergyMeter, leastMs: number): CountedWindow | string {
  if (meter.readMillijoules() === undefined) return 'NVML has no energy counter for this GPU';
  const from = untilTick(meter, 0);
  const to = from && untilTick(meter, leastMs);
  if (!from || !to) return `the energy counter stood still for ${LONGEST_TICK_MS} ms`;
  return {
    joules: (to.millijoules - from.millijoules) / 1000,
    seconds: (to.atMs - from.atMs) / 1000,
    replays: to.replays,
  };
}

interface Tick {
  readonly millijoules: number;
  readonly atMs: number;
  readonly replays: number;
}

/** Works until the first tick after `leastMs`. */
function untilTick({ readMillijoules, work, nowMs }: EnergyMeter, leastMs: number): Tick | undefined {
  const startMs = nowMs();
  let last = readMillijoules();
  let replays = 0;
  for (;;) {
    replays += work();
    const millijoules = readMillijoules();
    const atMs = nowMs();
    const sinceMs = atMs - startMs;
    // After a reading that failed, it is not known when the counter ticked.
    const hasTicked = millijoules !== undefined && last !== undefined && millijoules !== last;
    if (hasTicked && sinceMs >= leastMs) return { millijoules, atMs, replays };
    if (sinceMs > leastMs + LONGEST_TICK_MS) return undefined;
    last = millijoules;
  }
}
