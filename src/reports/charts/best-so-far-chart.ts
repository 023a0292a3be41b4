import type { Timing } from '../../core/timing.ts';
import { formatFigure, formatNs } from '../format.ts';
import { type Chart, chart, frameOf, type Point, polyline, text, xAxis, yAxis } from './chart.ts';
import { linearScale, logScale } from './scale.ts';

const MARGINS = { left: 62, right: 18, top: 52, bottom: 40 };

/** How a run came to its best. */
export interface SearchProgress {
  runId: string;
  /** How many were made. */
  evaluations: number;
  /** Best time so far on the first workload, each with how many evaluations were made by then. */
  progress: { evaluations: number; medianNs: number }[];
}

interface TwoRuns {
  readonly run: SearchProgress;
  readonly against: SearchProgress;
  /** What both times are of; `null` where they are of different things. */
  readonly reached: { readonly workload: string; readonly kind: Timing['kind'] } | null;
}

/** Best times so far of two runs by evaluations made, as steps. Undefined where they are of different things. */
export function bestSoFarChart({ run, against, reached }: TwoRuns): Chart | undefined {
  if (!reached) return undefined;
  const times = [...run.progress, ...against.progress].map(({ medianNs }) => medianNs);
  const most = Math.max(run.evaluations, against.evaluations, 2);
  const texts = {
    title: `${reached.kind} best time so far by evaluation of both runs`,
    description: [run, against].map((one) => `${one.runId}: ${one.progress.length} times kept`).join('; '),
  };
  return (size) => {
    const frame = frameOf(size, MARGINS);
    const x = linearScale([1, most], [frame.left, frame.right], 8);
    const y = logScale([Math.min(...times) / 1.1, Math.max(...times) * 1.1], [frame.bottom, frame.top], 7);
    const steps = ({ progress, evaluations }: SearchProgress): Point[] =>
      progress.flatMap(({ evaluations: from, medianNs }, index) => {
        const to = progress[index + 1]?.evaluations ?? evaluations;
        return [from, to].map((at): Point => [x.at(at), y.at(medianNs)]);
      });
    return chart(size, texts, [
      text(`${reached.kind} best time so far on ${reached.workload}, log scale`, [4, 16]),
      text('solid: A; dashed: B', [4, 34]),
      ...yAxis(y, frame, formatNs),
      ...xAxis(x, frame, formatFigure),
      polyline('reference', steps(against)),
      polyline('best-so-far', steps(run)),
    ]);
  };
}

/** How fast the best was when so much had been spent. */
interface BestBySpent {
  readonly points: readonly { readonly spent: number; readonly medianNs: number }[];
  /** All that was spent in the end. */
  readonly total: number;
  /** `wall time in minutes`. */
  readonly what: string;
  readonly kind: Timing['kind'];
  readonly workload: string;
}

/** Best time so far by what was spent, as steps. Undefined before anything was. */
export function bestBySpentChart({ points, total, what, kind, workload }: BestBySpent): Chart | undefined {
  if (points.length === 0 || !(total > 0)) return undefined;
  const times = points.map(({ medianNs }) => medianNs);
  const texts = {
    title: `${kind} best time so far by ${what}`,
    description: `${points.length} times kept; the table has the same figures.`,
  };
  return (size) => {
    const frame = frameOf(size, MARGINS);
    const x = linearScale([0, total], [frame.left, frame.right], 6);
    const y = logScale([Math.min(...times) / 1.1, Math.max(...times) * 1.1], [frame.bottom, frame.top], 7);
    const steps = points.flatMap(({ spent, medianNs }, index) =>
      [spent, points[index + 1]?.spent ?? total].map((at): Point => [x.at(at), y.at(medianNs)]),
    );
    return chart(size, texts, [
      text(`${kind} best time so far on ${workload}, log scale`, [4, 16]),
      text(`by ${what}`, [4, 34]),
      ...yAxis(y, frame, formatNs),
      ...xAxis(x, frame, formatFigure),
      polyline('best-so-far', steps),
    ]);
  };
}
