import { parseArgs } from 'node:util';

export interface RefereeOptions {
  readonly device: string;
  readonly output: string;
  /** Names to take; all when empty. */
  readonly only: readonly string[];
  readonly count: number;
  readonly seconds: number;
}

/** Options of these programs; what one of them does not use, it ignores. */
export function refereeOptions(
  defaults: { output: string; count?: number; seconds?: number },
  args?: string[],
): RefereeOptions {
  const { values } = parseArgs({
    args,
    options: {
      device: { type: 'string', default: 'cuda:0' },
      output: { type: 'string', default: defaults.output },
      only: { type: 'string', default: '' },
      count: { type: 'string', default: String(defaults.count ?? 0) },
      seconds: { type: 'string', default: String(defaults.seconds ?? 0) },
    },
  });
  const { device, output, only, count, seconds } = values;
  return { device, output, only: only.split(',').filter(Boolean), count: Number(count), seconds: Number(seconds) };
}

/** The names asked for that are not recorded yet. @throws Error for one that there is not. */
export function namesToDo(all: readonly string[], only: readonly string[], recorded: readonly string[]): string[] {
  const unknown = only.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`there is no ${unknown.join(', ')}; there are ${all.join(', ')}`);
  return all.filter((name) => (only.length === 0 || only.includes(name)) && !recorded.includes(name));
}
