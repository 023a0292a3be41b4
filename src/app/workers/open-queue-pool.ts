import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import type { Problem } from '../../core/problem.ts';
import { queueNameOf } from '../../evaluation/pool/job.ts';
import { QueuePool } from '../../evaluation/pool/queue-pool.ts';
import { codeFingerprint } from '../../process/code-fingerprint.ts';
import { checkQueue, errorTeller, openConnection } from '../../queue/connect.ts';
import { JobQueue } from '../../queue/job-queue.ts';
import { whoIsThere } from '../../queue/presence.ts';
import { type QueueAccess, queueAccess } from '../../queue/queue-access.ts';
import { packageVersion } from '../package-version.ts';
import { drawSeed } from '../seed.ts';
import type { Session, SessionOptions } from '../session.ts';
import { hashOfFiles } from './problem-files.ts';
import type { WorkerDescription } from './protocol.ts';

/** Longest wait for the first worker: a cluster may have to start it. */
const LONGEST_WAIT_MS = 15 * 60_000;
const LOOK_MS = 1_000;

type Options = SessionOptions & {
  readonly queue: string;
  readonly workers?: string;
  /** Names the jobs of a run in its queue, also when it is resumed. */
  readonly queueScope?: string;
};

/**
 * Opens a queue whose workers judge. Waits for the first that `workers` names.
 *
 * @throws WarpsmithError `option-missing`, `conflicting-options`, `no-workers`; as `queueAccess` and `checkQueue`.
 */
export async function openQueuePool(options: Options): Promise<Session> {
  const { workers, onStep } = options;
  if (workers === undefined || /^\d+$/.test(workers)) throw workersMissing(workers);
  refuseOptionsOfWorkers(options);
  const access = queueAccess(options.queue, process.env);
  await checkQueue(access);
  const chosen = await firstWorkers(access, workers, options);
  const { device, spec, toolchain, environment, offers } = chosen;
  const name = queueNameOf(offers);
  // Which board judged is said in each evaluation: a resumed run may find others.
  const { uuid: _, ...model } = device;
  const identity = { ...model, id: model.kind === 'cuda' ? 'cuda' : model.id };
  const queue = new JobQueue(access, name, onStep);
  const pool = new QueuePool({
    queue,
    requires: offers,
    device: identity,
    scope: options.queueScope ?? randomUUID(),
    filesOf,
    countWorkers: async () =>
      (await queue.workers()).filter((said) => queueNameOf(described(said).offers) === name).length,
  });
  return {
    device: { identity, spec },
    toolchain: { identity: toolchain },
    evaluator: pool,
    environment,
    drawSeed,
    [Symbol.asyncDispose]: () => pool.close(),
  };
}

const described = (said: string): WorkerDescription => JSON.parse(said) as WorkerDescription;

/** The workers that fit, of the kind of which most are there. */
async function firstWorkers(
  access: QueueAccess,
  wanted: string,
  { signal, onStep }: Options,
): Promise<WorkerDescription> {
  const redis = openConnection(
    access,
    errorTeller((text) => onStep?.(text)),
  );
  const untilMs = performance.now() + LONGEST_WAIT_MS;
  try {
    for (let isFirst = true; ; isFirst = false) {
      signal?.throwIfAborted();
      const there = (await whoIsThere(redis, access.seal)).map(described).filter(({ device }) => fits(wanted, device));
      const [most] = Object.values(Object.groupBy(there.filter(isOfThisVersion), ({ offers }) => queueNameOf(offers)))
        .map((group) => group!)
        .sort((a, b) => b.length - a.length);
      if (most) return most[0]!;
      if (performance.now() > untilMs) throw noWorkers(access, wanted, there);
      if (isFirst) onStep?.(`waiting for a worker ${wanted} at ${access.shown}${seen(there)}`);
      await sleep(LOOK_MS, undefined, { signal });
    }
  } finally {
    redis.disconnect();
  }
}

const fits = (wanted: string, { id, kind, name }: WorkerDescription['device']): boolean =>
  wanted.startsWith('gpu=')
    ? kind === 'cuda' && name.toLowerCase().includes(wanted.slice('gpu='.length).toLowerCase())
    : id === wanted;

const isOfThisVersion = ({ offers }: WorkerDescription): boolean =>
  offers.warpsmith === packageVersion() && offers.code === codeFingerprint();

/** Those of other versions. */
function seen(there: readonly WorkerDescription[]): string {
  if (there.length === 0) return '';
  const others = [
    ...new Set(there.map(({ offers: { warpsmith, code } }) => `${warpsmith} (build ${code.slice(0, 8)})`)),
  ];
  const own = `${packageVersion()} (build ${codeFingerprint().slice(0, 8)})`;
  return `; ${there.length} are there with warpsmith ${others.join(', ')}, not ${own}`;
}

const noWorkers = (access: QueueAccess, wanted: string, there: readonly WorkerDescription[]): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'no-workers',
      message: `No worker ${wanted} of this version came to ${access.shown}${seen(there)}.`,
      path: '--workers',
      received: wanted,
      expected: 'at least one worker with that device and the same build of warpsmith',
      hint: 'Start one: warpsmith worker --queue ADDRESS --device cuda:0, with the same WARPSMITH_QUEUE_KEY.',
    },
    EXIT.deviceOrToolMissing,
  );

const workersMissing = (received: string | undefined): WarpsmithError =>
  new WarpsmithError({
    code: 'option-missing',
    message: 'A queue may have workers of many devices, whose times say nothing about each other.',
    path: '--workers',
    received: received ?? 'nothing',
    expected: '--workers gpu=MODEL, or virtual:MODEL',
    hint: 'For example --workers gpu=h200, or --workers virtual:l4.',
  });

/** What a worker was started with decides. @throws WarpsmithError `conflicting-options`. */
function refuseOptionsOfWorkers(options: Options): void {
  const given = {
    '--threads': options.threads,
    '--toolchain': options.toolchain,
    '--run-timeout': options.runTimeoutSeconds,
    '--fresh': options.fresh,
  };
  const [flag] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  if (flag === undefined) return;
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: `${flag} is for the workers of a queue, not for those who ask them.`,
    path: flag,
    received: `--queue and ${flag}`,
    expected: `${flag} where the workers are started`,
    hint: `Leave ${flag} out here, and give it to warpsmith worker.`,
  });
}

const filesOf = (problem: Problem): ReadonlyMap<string, { readonly sha256: string; read(): Uint8Array }> =>
  new Map(
    Object.entries(hashOfFiles(problem)).map(([name, sha256]) => [
      name,
      { sha256, read: () => readFileSync(join(problem.folder, name)) },
    ]),
  );
