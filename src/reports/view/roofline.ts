import type { Evaluation } from '../../core/evaluation.ts';
import type { Roofline } from '../../core/roofline.ts';
import type { Timing } from '../../core/timing.ts';
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
  bytesSource: 'estimated DRAM traffic' | 'distinct sectors touched' | 'least the problem reads';
  role: 'start' | 'best' | 'kept' | 'tried';
}

/** Bounds, roofs and candidates of the first workload. */
export interface RooflineView extends Roofline {
  kind: Timing['kind'];
  vetoNs: number;
  attainableNs: number;
  points: RooflinePoint[];
}

/** Bytes the candidate moves, as exactly as its evaluation tells. */
function bytesOf(
  { timing, counters }: Evaluation,
  cache: 'hot' | 'cold',
  { minimumReadBytes }: Roofline,
): Pick<RooflinePoint, 'bytes' | 'bytesSource'> {
  const dramBytes = (timing?.launches ?? []).reduce((sum, launch) => sum + launch.dramBytesEstimate, 0);
  if (cache === 'cold' && dramBytes > 0) return { bytes: dramBytes, bytesSource: 'estimated DRAM traffic' };
  const sectors = (counters?.launches ?? []).reduce(
    (sum, { distinctSectorsRead, distinctSectorsWritten }) => sum + distinctSectorsRead + distinctSectorsWritten,
    0,
  );
  if (sectors > 0) return { bytes: sectors * SECTOR_BYTES, bytesSource: 'distinct sectors touched' };
  return { bytes: minimumReadBytes, bytesSource: 'least the problem reads' };
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

/** `null` for logs without the work and the roofs, and where the start has no time. */
export function rooflineView({ roofline, cache, joined, rows, bestId }: RooflineSource): RooflineView | null {
  const start = joined[0]?.finished.evaluation;
  const timing = start?.timing;
  if (!roofline || !start || !timing || start.status !== 'passed') return null;
  const points = joined.flatMap(({ finished: { evaluation } }, index): RooflinePoint[] => {
    const row = rows[index]!;
    const isCandidate = row.stage === 'judge' || row.stage === 'screen';
    if (!row.time || row.time.kind !== timing.kind || row.workload !== roofline.workload || !isCandidate) return [];
    const bytes = bytesOf(evaluation, cache, roofline);
    return [
      {
        evaluationId: evaluation.id,
        candidate: candidateOf(evaluation),
        kind: row.time.kind,
        intensity: roofline.flop / bytes.bytes,
        flopPerSecond: roofline.flop / (row.time.medianNs / 1e9),
        ...bytes,
        role: roleOf(row, start.id, bestId),
      },
    ];
  });
  const { vetoNs, attainableNs } = timing;
  return { ...roofline, kind: timing.kind, vetoNs, attainableNs, points };
}
