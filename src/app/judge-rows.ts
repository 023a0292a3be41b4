import { allEnded } from '../core/all-ended.ts';
import type { Problem, Workload } from '../core/problem.ts';
import { untilAborted } from '../core/until-aborted.ts';
import { type Contender, type DispatchRowRequest, type JudgedRow, judgeRow } from './dispatch-row.ts';
import type { KeptRows } from './kept-rows.ts';
import type { Session } from './session.ts';

/** A device that judges rows. */
export interface Judge {
  readonly session: Pick<Session, 'device' | 'evaluator'>;
  readonly kept: KeptRows | undefined;
}

export interface Judging {
  readonly options: DispatchRowRequest['options'];
  /** One for each device, all of one model. */
  readonly judges: readonly [Judge, ...Judge[]];
  readonly problem: Problem;
  readonly contenders: readonly Contender[];
}

/** Each device takes the next workload when it is idle. Whatever goes wrong with one costs no other. Ends early if interrupted. */
export async function judgeRows(judging: Judging, workloads: readonly Workload[]): Promise<JudgedRow[]> {
  const { options, judges } = judging;
  const rows = new Map<Workload, JudgedRow>();
  const left = [...workloads];
  const judgeSome = async (judge: Judge): Promise<void> => {
    for (let workload = left.shift(); workload; workload = left.shift()) {
      const known = await keptRow(judging, judge, workload);
      const row = known ?? (await orInterrupted(rowOrFailure(judging, judge, workload), options.signal));
      if (!row) return;
      rows.set(workload, row);
    }
  };
  await allEnded(judges.map(judgeSome));
  return workloads.flatMap((workload) => rows.get(workload) ?? []);
}

/** As an interrupted call left it. */
async function keptRow(
  { contenders, options }: Judging,
  { kept }: Judge,
  workload: Workload,
): Promise<JudgedRow | undefined> {
  const row = options.signal?.aborted ? undefined : await kept?.read(workload, contenders);
  if (row) options.onStep?.(`${workload.name}: judged at ${row.judgedAt}, before an interruption`);
  return row;
}

async function rowOrFailure(
  { options, problem, contenders }: Judging,
  { session, kept }: Judge,
  workload: Workload,
): Promise<JudgedRow> {
  const isMeasured = session.device.identity.kind === 'cuda';
  try {
    const row = await judgeRow({ options, session, problem, workload, contenders, isMeasured });
    await kept?.keep(row, workload, contenders);
    return row;
  } catch (error) {
    if (options.signal?.aborted) throw error;
    const { name, dimensions, cache } = workload;
    const failure = error instanceof Error ? error.message : String(error);
    const judgedAt = new Date().toISOString();
    return { workload: name, dimensions, cache, seed: options.seed, judgedAt, contenders: [], compared: {}, failure };
  }
}

/** The result, or `undefined` if the signal fired before. */
export async function orInterrupted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  try {
    return await untilAborted(work, signal);
  } catch (error) {
    if (signal?.aborted) return undefined;
    throw error;
  }
}
