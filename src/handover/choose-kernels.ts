/** A kernel may serve a workload if its time is at most this factor above the fastest one's. */
const TOLERATED_RATIO = 1.02;

/** Workload → candidate id → time in ns; absent if the candidate was not judged or does not take the workload. */
export type Times = ReadonlyMap<string, ReadonlyMap<string, number>>;

/**
 * Chooses a kernel for each workload: the fastest one. A kernel is dropped if others come within 2 % of it on every workload
 * that it wins, because fewer kernels are less code to build, load and maintain.
 *
 * @returns workload → candidate id, in the order of `times`; workloads that no candidate takes are left out.
 */
export function chooseKernels(times: Times): ReadonlyMap<string, string> {
  const kept = new Set([...times.values()].flatMap((row) => [...row.keys()]));
  for (const id of byWins(times, kept)) {
    const others = new Set([...kept].filter((other) => other !== id));
    if ([...times.values()].every((row) => isServed(row, others))) kept.delete(id);
  }
  return new Map(
    [...times].flatMap(([workload, row]) => {
      const fastest = fastestOf(row, kept);
      return fastest === undefined ? [] : [[workload, fastest] as const];
    }),
  );
}

/** Kernels that win the fewest workloads come first: they are the cheapest to drop. */
function byWins(times: Times, candidates: ReadonlySet<string>): string[] {
  const wins = (id: string) => [...times.values()].filter((row) => fastestOf(row, candidates) === id).length;
  return [...candidates].sort((a, b) => wins(a) - wins(b));
}

function isServed(row: ReadonlyMap<string, number>, by: ReadonlySet<string>): boolean {
  const least = Math.min(...row.values());
  return row.size === 0 || [...by].some((id) => (row.get(id) ?? Number.POSITIVE_INFINITY) <= TOLERATED_RATIO * least);
}

const fastestOf = (row: ReadonlyMap<string, number>, of: ReadonlySet<string>): string | undefined =>
  [...row]
    .filter(([id]) => of.has(id))
    .reduce<readonly [string, number] | undefined>(
      (best, one) => (best && best[1] <= one[1] ? best : one),
      undefined,
    )?.[0];
