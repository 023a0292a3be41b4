/** Number of operations, time in ms that the caller waited for them, and the bytes they moved, if any. */
export interface TallyEntry {
  readonly count: number;
  readonly ms: number;
  readonly bytes?: number;
}

/**
 * Requests to a device in a process of its own since it was opened. The time of a request includes the times of its parts.
 */
export interface DeviceTally {
  /** Messages to the process, by command. */
  readonly messages: Readonly<Record<string, TallyEntry>>;
  /** Commands that went together in messages named `together`. Absent in older recordings. */
  readonly together?: Readonly<Record<string, TallyEntry>>;
  /** What the process asked of the driver, by function. */
  readonly driver: Readonly<Record<string, TallyEntry>>;
}

/** The difference of two tallies, without entries that did not change. */
export const tallyBetween = (before: DeviceTally, after: DeviceTally): DeviceTally => ({
  messages: between(before.messages, after.messages),
  together: between(before.together ?? {}, after.together ?? {}),
  driver: between(before.driver, after.driver),
});

const between = (before: DeviceTally['driver'], after: DeviceTally['driver']): Record<string, TallyEntry> =>
  Object.fromEntries(
    Object.entries(after).flatMap(([name, entry]) => {
      const { count = 0, ms = 0, bytes = 0 } = before[name] ?? {};
      if (entry.count === count) return [];
      const moved = entry.bytes === undefined ? {} : { bytes: entry.bytes - bytes };
      return [[name, { count: entry.count - count, ms: entry.ms - ms, ...moved }]];
    }),
  );

/** Counts as it happens. */
export class Tally {
  readonly #entries = new Map<string, { count: number; ms: number; bytes?: number }>();

  add(name: string, ms: number, bytes?: number): void {
    const { count, ms: earlierMs, bytes: earlierBytes = 0 } = this.#entries.get(name) ?? { count: 0, ms: 0 };
    const moved = bytes === undefined ? {} : { bytes: earlierBytes + bytes };
    this.#entries.set(name, { count: count + 1, ms: earlierMs + ms, ...moved });
  }

  get entries(): Record<string, TallyEntry> {
    return Object.fromEntries([...this.#entries].map(([name, entry]) => [name, { ...entry }]));
  }
}
