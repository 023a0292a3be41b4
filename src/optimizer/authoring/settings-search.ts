import { WarpsmithError } from '../../core/errors.ts';
import type { Candidate } from '../../core/kernel.ts';
import { takesWorkloads } from '../../core/plan/takes-workload.ts';
import { type KernelSpace, kernelSpace } from '../../search/kernel-space.ts';
import { createStrategy, DEFAULT_BLIND_STRATEGY } from '../../search/strategies.ts';
import type { OptimizeOptions } from '../run.ts';

/** Settings that are tried of a new structure; more while they help. */
const SETTINGS = { least: 8, most: 12, lastThatHelp: 4 } as const;
/** Largest part of the evaluations left: the author shall have others. */
const MOST_SHARE = 1 / 3;

/** A small search over the parameters of one kernel, so that one bad tile size does not bury a good structure. */
export interface SettingsSearch {
  /** The next setting; undefined when the search is over. */
  next(): Candidate | undefined;
  /** @param ratio start's time ÷ its time; undefined if it has none. */
  tell(candidate: Candidate, ratio: number | undefined): void;
}

export interface SettingsSearchRequest {
  readonly candidate: Candidate;
  /** Of the candidate. */
  readonly ratio: number;
  readonly options: Pick<OptimizeOptions, 'workloads' | 'seed'>;
  readonly evaluationsLeft: number | null;
}

/** Undefined if the kernel has no other setting, too many to list, or no evaluations are left for it. */
export function openSettingsSearch(request: SettingsSearchRequest): SettingsSearch | undefined {
  const { candidate: first, ratio: firstRatio, options, evaluationsLeft } = request;
  const found = spaceOf(first, options);
  if (!found) return undefined;
  const { space, candidateAt, indexOf } = found;
  const share = evaluationsLeft === null ? SETTINGS.most : Math.floor(evaluationsLeft * MOST_SHARE);
  const most = Math.min(SETTINGS.most, space.size - 1, share);
  if (!(most >= 1)) return undefined;
  const strategy = createStrategy(DEFAULT_BLIND_STRATEGY, { space, seed: options.seed });
  let [asked, bestAt, best] = [0, 0, firstRatio];
  const tell = (candidate: Candidate, ratio: number | undefined): void => {
    const index = indexOf(candidate);
    if (index !== undefined)
      strategy.tell(index, ratio === undefined ? { kind: 'failed' } : { kind: 'timed', timeNs: 1 / ratio });
    if (ratio === undefined || !(ratio > best)) return;
    best = ratio;
    bestAt = asked;
  };
  tell(first, firstRatio);
  const isOver = (): boolean => asked >= most || (asked >= SETTINGS.least && asked - bestAt >= SETTINGS.lastThatHelp);
  return {
    next() {
      for (let index = isOver() ? undefined : strategy.ask(); index !== undefined; index = strategy.ask()) {
        const candidate = candidateAt(index);
        if (takesWorkloads(candidate, options.workloads)) {
          asked += 1;
          return candidate;
        }
        strategy.tell(index, { kind: 'failed' });
      }
      return undefined;
    },
    tell,
  };
}

/** An author's kernel.json may declare anything. */
function spaceOf({ kernel }: Candidate, { workloads }: Pick<OptimizeOptions, 'workloads'>): KernelSpace | undefined {
  if (Object.keys(kernel.file.parameters ?? {}).length === 0) return undefined;
  try {
    return kernelSpace([kernel], workloads[0]!.dimensions);
  } catch (error) {
    if (error instanceof WarpsmithError) return undefined;
    throw error;
  }
}
