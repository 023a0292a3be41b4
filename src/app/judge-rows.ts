import { isDeepStrictEqual } from 'node:util';
import { allEnded } from '../core/all-ended.ts';
import { messageOf } from '../core/errors.ts';
import type { Problem, Workload } from '../core/problem.ts';
import { untilAborted } from '../core/until-aborted.ts';
import { type Contender, type DispatchRowRequest, type JudgedRow, judgeRow } from './dispatch-row.ts';
import { type KeptRows, placeOf } from './kept-rows.ts';
import type { Session } from './session.ts';

/** A device that judges rows. */
export interface Judge {
  readonly session: Pick<Session, 'device' | 'evaluator' | 'environment'>;
}

export interface Judging {
  readonly options: DispatchRowRequest['options'];
  /** One for each device, all of one model. */
  readonly judges: readonly [Judge, ...Judge[]];
  readonly problem: Problem;
  readonly contenders: readonly Contender[];
  readonly kept: KeptRows | undefined;
}

/** Each device takes the next workload when it is idle. Whatever goes wrong with one costs no other. Ends early if interrupted. */
export async function judgeRows(judging: Judging, workloads: readonly Workload[]): Promise<JudgedRow[]> {
  const { options, judges } = judging;
  const rows = new Map<Workload, JudgedRow>();
  const left = [...workloads];
  const judgeSome = async (judge: Judge): Promise<void> => {
    for (let workload = left.shift(); workload; workload = left.shift()) {
      const known = await keptRow(judging, workload);
      const row = known ?? (await orInterrupted(rowOrFailure(judging, judge, workload), options.signal));
      if (!row) return;
      rows.set(workload, row);
    }
  };
  await allEnded(judges.map(judgeSome));
  return workloads.flatMap((workload) => rows.get(workload) ?? []);
}

/** As an interrupted call left it, on one of these devices or another. */
async function keptRow(
  { judges, contenders, options, kept }: Judging,
  workload: Workload,
): Promise<JudgedRow | undefined> {
  const known = options.signal?.aborted ? undefined : await kept?.read(workload, contenders);
  if (!known) return undefined;
  const { row, on } = known;
  options.onStep?.(`${workload.name}: judged at ${row.judgedAt}, before an interruption`);
  const isHere = judges.some(({ session }) => isDeepStrictEqual(placeOf(session), on));
  return isHere ? row : { ...row, judgedOn: on };
}

async function rowOrFailure(
  { options, problem, contenders, kept }: Judging,
  { session }: Judge,
  workload: Workload,
): Promise<JudgedRow> {
  const isMeasured = session.device.identity.kind === 'cuda';
  try {
    const row = await judgeRow({ options, session, problem, workload, contenders, isMeasured });
    await kept?.keep({ row, on: placeOf(session) }, workload, contenders);
    return row;
  } catch (error) {
    if (options.signal?.aborted) throw error;
    const { name, dimensions, cache } = workload;
    const judgedAt = new Date().toISOString();
    const failure = messageOf(error);
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
