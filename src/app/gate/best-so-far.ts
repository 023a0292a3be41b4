import { existsSync } from 'node:fs';
import type { DeviceIdentity } from '../../core/device.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { Evaluation } from '../../core/evaluation.ts';
import type { GateBest } from '../../core/gate-baseline.ts';
import { parseGateBaseline } from '../../core/schemas/parse-files.ts';
import type { Timing } from '../../core/timing.ts';
import type { BestSoFar, GatedWorkload } from '../../reports/documents/gate.ts';
import { countedFigures, figureChanges } from '../../reports/view/counter-changes.ts';
import { readUserText } from '../loading/read-user-file.ts';
import { packageVersion } from '../package-version.ts';
import { saveReport } from '../report.ts';
import type { JudgedWorkload } from './judge-workload.ts';

/** The file of `--baseline`: it only ever gets better. */
export interface BestTimes {
  /** As the user named it. */
  readonly file: string;
  /** A row held to the best that is known of it. */
  hold(kernel: string, judged: JudgedWorkload, maximumSlowdown: number): GatedWorkload;
  /** Writes what is better or new, without the kernels that are gone. Returns how many rows it wrote. */
  write(deleted: readonly string[]): number;
}

/** Boards of one name are as fast as each other; their numbers mean nothing elsewhere. */
const deviceName = ({ kind, id, name }: DeviceIdentity): string => (kind === 'virtual' ? id : name);

const keyOf = ({ kernel, workload, device }: Pick<GateBest, 'kernel' | 'workload' | 'device'>): string =>
  JSON.stringify([kernel, workload, device]);

/**
 * Opens the file, which need not be there if it is to be written.
 *
 * @throws WarpsmithError `missing-file`; for a mistake in it.
 */
export async function openBestTimes(file: string, isWritten: boolean): Promise<BestTimes> {
  const known = new Map((await read(file, isWritten)).map((best) => [keyOf(best), best]));
  const better = new Map<string, GateBest>();
  return {
    file,
    hold(kernel, { row, evaluation }, maximumSlowdown) {
      const now = evaluation && bestOf(kernel, row, evaluation);
      if (!now) return row;
      const before = known.get(keyOf(now));
      const held = before ? heldTo(row, before, now, evaluation.timing!, maximumSlowdown) : row;
      const isBetter = !before || !isComparable(before, now) || now.ns < before.ns;
      if (held.outcome === 'passes' && isBetter) better.set(keyOf(now), now);
      return held;
    },
    write(deleted) {
      const kept = [...new Map([...known, ...better]).values()].filter(({ kernel }) => !deleted.includes(kernel));
      const best = kept.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
      saveReport(file, `${JSON.stringify({ schemaVersion: 1, best }, undefined, 2)}\n`, '--baseline');
      return better.size;
    },
  };
}

async function read(file: string, isWritten: boolean): Promise<readonly GateBest[]> {
  if (isWritten && !existsSync(file)) return [];
  const text = await readUserText({
    file,
    expected: 'a file that `warpsmith gate --update` wrote',
    hint: 'Add --update to make it.',
  });
  return parseGateBaseline(text, file).best;
}

function bestOf(kernel: string, { workload, outcome }: GatedWorkload, evaluation: Evaluation): GateBest | undefined {
  const { timing, device, candidate } = evaluation;
  if (outcome !== 'passes' || !timing) return undefined;
  return {
    kernel,
    workload,
    device: deviceName(device),
    kind: timing.kind,
    ns: timing.medianNs,
    warpsmith: packageVersion(),
    candidate: candidate.id,
    counters: countedFigures(evaluation),
  };
}

/** Another version may predict another time of the same kernel; a GPU's clock is the same. */
const isComparable = (before: GateBest, now: GateBest): boolean =>
  before.kind === now.kind && (now.kind === 'measured' || before.warpsmith === now.warpsmith);

function heldTo(
  row: GatedWorkload,
  before: GateBest,
  now: GateBest,
  { kind, intervalNs }: Timing,
  maximum: number,
): GatedWorkload {
  if (!isComparable(before, now)) {
    const note = `the best so far is of warpsmith ${before.warpsmith}, and not compared; --update replaces it`;
    return { ...row, best: { ns: before.ns, ratio: null, note } };
  }
  const best: BestSoFar = { ns: before.ns, ratio: before.ns / now.ns };
  // Measured at another time, so that all of the interval has to lie beyond.
  const least = kind === 'measured' ? intervalNs[0] : now.ns;
  if (least <= before.ns * (1 + maximum / 100)) return { ...row, best };
  const moved = figureChanges(before.counters ?? {}, now.counters ?? {});
  const percent = (100 * (now.ns / before.ns - 1)).toFixed(1);
  const why = [
    `${kind} ${percent} % slower than the best so far; ${maximum} % are allowed`,
    ...(moved.length > 0 ? [`since then: ${moved.slice(0, MOST_MOVED).join(', ')}`] : []),
  ].join('; ');
  return { ...row, best, outcome: 'worse-than-best', why };
}

const MOST_MOVED = 3;

/** @throws WarpsmithError `conflicting-options`. */
export function refuseUpdateWithoutFile({ update, baselineFile }: { update?: boolean; baselineFile?: string }): void {
  if (!update || baselineFile !== undefined) return;
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: '--update has no file to write.',
    path: '--update',
    received: '--update without --baseline',
    expected: '--baseline <file>',
    hint: 'For example --baseline gate-baseline.json --update.',
  });
}
