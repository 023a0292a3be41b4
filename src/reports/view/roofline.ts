import type { Evaluation } from '../../core/evaluation.ts';
import type { Roofline } from '../../core/roofline.ts';
import type { Timing } from '../../core/timing.ts';
import { sum } from '../../core/values.ts';
import type { CandidateReference } from '../../store/events.ts';
import { candidateOf, type Joined, type ProgressionRow } from './progression.ts';

const SECTOR_BYTES = 32;

/** A candidate in the roofline plot. */
export interface RooflinePoint {
  evaluationId: string;
  candidate: CandidateReference;
  kind: Timing['kind'];
  /** The problem's FLOP ÷ bytes this candidate moves. */
  intensity: number;
  /** The problem's FLOP ÷ this candidate's time: redundant work does not count as speed. */
  flopPerSecond: number;
  /** What `intensity` divides by. */
  bytes: number;
  bytesSource:
    | 'estimated DRAM traffic'
    | 'distinct sectors touched'
    | 'sectors requested, some of which L1 may serve'
    | 'least the problem reads';
  role: 'start' | 'best' | 'kept' | 'tried';
}

/** Bounds, roofs and candidates of the first workload. */
export interface RooflineView extends Roofline {
  kind: Timing['kind'];
  vetoNs: number;
  attainableNs: number;
  points: RooflinePoint[];
}

type Traffic = Pick<RooflinePoint, 'bytes' | 'bytesSource'>;

/** Cold: what comes from and goes to DRAM. */
function dramTraffic({ timing, counters }: Evaluation): Traffic {
  const predicted = sum((timing?.launches ?? []).map(({ dramBytesEstimate }) => dramBytesEstimate));
  if (predicted > 0) return { bytes: predicted, bytesSource: 'estimated DRAM traffic' };
  const sectors = sum(
    (counters?.launches ?? []).map((launch) => launch.distinctSectorsRead + launch.distinctSectorsWritten),
  );
  return { bytes: sectors * SECTOR_BYTES, bytesSource: 'distinct sectors touched' };
}

/** Hot: what the kernel asks L2 for, as far as L1 does not serve it. */
function l2Traffic({ counters }: Evaluation): Traffic {
  const sectors = counters ? counters.totals.globalLoadSectors + counters.totals.globalStoreSectors : 0;
  return { bytes: sectors * SECTOR_BYTES, bytesSource: 'sectors requested, some of which L1 may serve' };
}

/** Bytes the candidate moves, as exactly as its evaluation tells. */
function trafficOf(evaluation: Evaluation, cache: 'hot' | 'cold', { minimumReadBytes }: Roofline): Traffic {
  const traffic = cache === 'cold' ? dramTraffic(evaluation) : l2Traffic(evaluation);
  return traffic.bytes > 0 ? traffic : { bytes: minimumReadBytes, bytesSource: 'least the problem reads' };
}

function roleOf({ evaluationId, decision }: ProgressionRow, startId: string, bestId: string | undefined) {
  if (evaluationId === bestId) return 'best';
  if (evaluationId === startId) return 'start';
  return decision === 'keep' ? 'kept' : 'tried';
}

interface RooflineSource {
  roofline: Roofline | undefined;
  cache: 'hot' | 'cold';
  joined: readonly Joined[];
  rows: readonly ProgressionRow[];
  bestId: string | undefined;
}

/** `null` for logs without the work and the roofs, where the start has no time, and for problems without FLOP. */
export function rooflineView({ roofline, cache, joined, rows, bestId }: RooflineSource): RooflineView | null {
  const start = joined[0]?.finished.evaluation;
  const timing = start?.timing;
  if (!roofline || !start || !timing || start.status !== 'passed' || !(roofline.flop > 0)) return null;
  const points = joined.flatMap(({ finished: { evaluation } }, index) => {
    const row = rows[index]!;
    const isCandidate = row.stage === 'judge' || row.stage === 'screen';
    if (!row.time || row.time.kind !== timing.kind || row.workload !== roofline.workload || !isCandidate) return [];
    return pointOf(evaluation, roleOf(row, start.id, bestId), roofline, cache) ?? [];
  });
  const { vetoNs, attainableNs } = timing;
  return { ...roofline, kind: timing.kind, vetoNs, attainableNs, points };
}

/** Neither counted nor known from the problem: such a candidate has no place along the axis of intensities. */
function pointOf(
  evaluation: Evaluation,
  role: RooflinePoint['role'],
  roofline: Roofline,
  cache: 'hot' | 'cold',
): RooflinePoint | undefined {
  const { timing } = evaluation;
  const traffic = trafficOf(evaluation, cache, roofline);
  if (!timing || !(traffic.bytes > 0)) return undefined;
  return {
    evaluationId: evaluation.id,
    candidate: candidateOf(evaluation),
    kind: timing.kind,
    intensity: roofline.flop / traffic.bytes,
    flopPerSecond: roofline.flop / (timing.medianNs / 1e9),
    ...traffic,
    role,
  };
}

/** The roofline of one candidate alone; `null` where it has no place in it. */
export function rooflineOfOne(
  evaluation: Evaluation,
  roofline: Roofline | undefined,
  cache: 'hot' | 'cold',
): RooflineView | null {
  const { timing } = evaluation;
  const point = roofline && roofline.flop > 0 ? pointOf(evaluation, 'best', roofline, cache) : undefined;
  if (!roofline || !timing || !point) return null;
  const { kind, vetoNs, attainableNs } = timing;
  return { ...roofline, kind, vetoNs, attainableNs, points: [point] };
}
