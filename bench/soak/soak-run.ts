import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { optimizeProblem } from '../../src/app/optimize.ts';
import { processTree } from '../../src/process/process-tree.ts';
import { NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';
import { PROBLEM } from './scenarios.ts';

// A soaked run evaluates what it says.
process.env.WARPSMITH_REPEATS = 'off';

/** What a long run leaves in the process, and behind it. */
export interface SoakResult {
  evaluations: number;
  /** By status. */
  statuses: Readonly<Record<string, number>>;
  /** Resident bytes after each evaluation, its garbage collected where that can be asked for. */
  rssBytes: number[];
  /** Commands of the processes that the run started and that are still below this one. */
  childProcesses: string[];
  /** Files and folders in the run's own temporary folder once it has ended. */
  temporaryFiles: string[];
  /** Open files of this process: before and after. */
  openFiles: readonly [before: number, after: number];
}

const openFileCount = (): number => {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
};

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
};

/** Those that have ended and were not waited for count: they would pile up. */
const children = (): number[] => [...processTree(process.pid)].filter((pid) => pid !== process.pid);

/** The guard stays as long as this process. */
const staysWithUs = (pid: number): boolean => commandOf(pid).includes('guard-main');

/**
 * A reference's process, and the one that starts programs, end 10 s after their last use. A process that has just ended
 * has no command line any more, and stays until Node has waited for it.
 */
const endsByItself = (pid: number): boolean => /reference-main|starter-main|^$/.test(commandOf(pid));

const othersEnded = async (): Promise<void> => {
  for (let i = 0; i < 200 && children().some(endsByItself); i++) await setTimeout(100);
};

/**
 * Optimises the cheapest problem with a search that goes through its settings in any order, for so many evaluations.
 *
 * @param onEvaluation sees how many are done.
 * @param settles waits for what ends by itself; not worth it where only the run after this one counts.
 */
export async function soak(
  evaluations: number,
  onEvaluation: (count: number) => void = () => {},
  settles = true,
): Promise<SoakResult> {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-soak-'));
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary);
  const before = { TMPDIR: process.env.TMPDIR, openFiles: openFileCount(), children: new Set(children()) };
  process.env.TMPDIR = temporary;
  const rssBytes: number[] = [];
  const statuses: Record<string, number> = {};
  try {
    await optimizeProblem({
      target: PROBLEM,
      device: 'virtual:l4',
      threads: 1,
      workloads: [],
      parameters: {},
      seed: 1,
      strategy: 'random',
      ablation: false,
      budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: evaluations },
      store: join(folder, 'store'),
      onEvent(event) {
        if (event.type !== 'evaluation-finished') return;
        globalThis.gc?.();
        rssBytes.push(process.memoryUsage.rss());
        statuses[event.evaluation.status] = (statuses[event.evaluation.status] ?? 0) + 1;
        onEvaluation(rssBytes.length);
      },
    });
    if (settles) await othersEnded();
    return {
      evaluations: rssBytes.length,
      statuses,
      rssBytes,
      childProcesses: children()
        .filter((pid) => !before.children.has(pid) && !staysWithUs(pid))
        .map(commandOf),
      temporaryFiles: readdirSync(temporary, { recursive: true, encoding: 'utf8' }),
      openFiles: [before.openFiles, openFileCount()],
    };
  } finally {
    if (before.TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before.TMPDIR;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Slope of the least-squares line through values at 0, 1, 2, … */
export function slope(values: readonly number[]): number {
  const meanX = (values.length - 1) / 2;
  const meanY = values.reduce((sum, value) => sum + value, 0) / values.length;
  const covariance = values.reduce((sum, value, x) => sum + (x - meanX) * (value - meanY), 0);
  return covariance / values.reduce((sum, _value, x) => sum + (x - meanX) ** 2, 0);
}
