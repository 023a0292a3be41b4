import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WarpsmithError } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { hashJob, queueNameOf, type Requirements } from '../../evaluation/pool/job.ts';
import { otherThan, packAnswer, type SentAnswer, type SentJob } from '../../evaluation/pool/queue-pool.ts';
import { openTemporaryFolder } from '../../process/temporary-folder.ts';
import { WorkerProcessEnded } from '../../process/worker-process.ts';
import { checkQueue } from '../../queue/connect.ts';
import { JobWorker } from '../../queue/job-worker.ts';
import { type QueueAccess, queueAccess } from '../../queue/queue-access.ts';
import { getFile } from '../../queue/shared-files.ts';
import type { OnDevice } from '../session.ts';
import { chosenDevices } from './chosen-devices.ts';
import { createProblemFetcher, type GetFile } from './fetch-problem.ts';
import { LocalSeat } from './local-seat.ts';

export type WorkerRequest = OnDevice<RequestOf<'worker'>>;

/** A candidate that is being judged when the worker is told to end has this long. */
const GRACE_MS = 20_000;
const LOOK_MS = 1_000;
const MS_PER_MINUTE = 60_000;

/**
 * Takes candidates from a queue and judges them, until it is told to end or has had nothing to do for long enough.
 *
 * @returns how long it had nothing to do before it ended, in ms. @throws WarpsmithError `option-missing`; as `queueAccess`, `checkQueue` and `openSession`.
 */
export async function runWorker(request: WorkerRequest): Promise<number> {
  if (request.queue === undefined) throw queueMissing();
  const access = queueAccess(request.queue, process.env);
  const devices = chosenDevices({ device: request.device, workers: request.workers }) ?? [request.device];
  refuseTwice(devices, request.workers);
  await checkQueue(access);
  await using folder = openTemporaryFolder();
  const fetchProblem = createProblemFetcher(folder.path);
  const { threads, toolchain, runTimeoutSeconds, fresh, signal } = request;
  const codeFolder = join(folder.path, 'code');
  const worker = { threads, toolchain, runTimeoutSeconds, fresh, codeFolder };
  const seats = devices.map((device) => new LocalSeat({ ...worker, device }));
  const workers: JobWorker[] = [];
  try {
    for (const seat of seats) workers.push(await takeJobs(seat, access, fetchProblem, request));
    return await untilOver(workers, request);
  } finally {
    await Promise.all(workers.map((worker) => worker.close(signal?.aborted ? GRACE_MS : 0)));
    await Promise.all(seats.map((seat) => seat.close()));
  }
}

async function takeJobs(
  seat: LocalSeat,
  access: QueueAccess,
  fetchProblem: ReturnType<typeof createProblemFetcher>,
  { onStep }: WorkerRequest,
): Promise<JobWorker> {
  const description = await seat.open();
  const { device, offers } = description;
  onStep?.(`${device.id} (${device.name}) takes candidates from ${access.shown}`);
  return new JobWorker({
    access,
    queue: queueNameOf(offers),
    said: JSON.stringify(description),
    onTrouble: onStep,
    async answer(body, { redis, signal }) {
      const sent = await answerSent(body, {
        seat,
        offers,
        fetchProblem,
        get: (sha256) => getFile(redis, sha256),
        signal,
      });
      onStep?.(`${device.id}: ${describeSent(body, sent)}`);
      return JSON.stringify(sent);
    },
  });
}

interface Tools {
  readonly seat: LocalSeat;
  readonly offers: Requirements;
  readonly fetchProblem: ReturnType<typeof createProblemFetcher>;
  readonly get: GetFile;
  readonly signal: AbortSignal;
}

/** @throws Error for a job that is not what it says or not for this worker: another may answer it. */
async function answerSent(body: string, { seat, offers, fetchProblem, get, signal }: Tools): Promise<SentAnswer> {
  const { hash, job } = JSON.parse(body) as SentJob;
  if (hashJob(job) !== hash) throw new Error('the contents of the job are not those of its hash');
  const other = otherThan(job.requires, offers);
  if (other !== undefined) throw new Error(`this worker has another ${other}`);
  const folder = await fetchProblem(job.problem.files, get);
  const answer = () => seat.answer(job, folder, signal);
  try {
    return { by: offers, ok: true, answer: packAnswer(await answer().catch(onceMore(answer, signal))) };
  } catch (error) {
    if (!(error instanceof WarpsmithError)) throw error;
    return { by: offers, ok: false, error: error.details, exitCode: error.exitCode };
  }
}

/** A process may have been killed by chance. */
const onceMore =
  <T>(work: () => Promise<T>, signal: AbortSignal) =>
  (error: unknown): Promise<T> => {
    if (error instanceof WorkerProcessEnded && !signal.aborted) return work();
    throw error;
  };

function describeSent(body: string, sent: SentAnswer): string {
  const { job } = JSON.parse(body) as SentJob;
  const what = `${job.problem.name}, ${job.candidate.file.name} ${job.candidate.id}`;
  return `${what}: ${sent.ok ? sent.answer.evaluation.status : sent.error.message}`;
}

async function untilOver(
  workers: readonly JobWorker[],
  { signal, onStep, ...request }: WorkerRequest,
): Promise<number> {
  const mostMinutes = longestIdle(request);
  const idleMs = () => Math.min(...workers.map(({ isBusy, busyAtMs }) => (isBusy ? 0 : performance.now() - busyAtMs)));
  while (!signal?.aborted) {
    if (idleMs() >= mostMinutes * MS_PER_MINUTE) {
      onStep?.(`nothing to do for ${mostMinutes} minutes: the worker ends`);
      break;
    }
    await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
  }
  return idleMs();
}

/** A worker that is to release its GPU ends for that. */
function longestIdle({ idleMinutes, releaseAfterMinutes }: Partial<WorkerRequest>): number {
  const given = [idleMinutes, releaseAfterMinutes].filter((minutes) => minutes !== undefined);
  return Math.min(...given, Number.POSITIVE_INFINITY);
}

const queueMissing = (): WarpsmithError =>
  new WarpsmithError({
    code: 'option-missing',
    message: 'A worker takes candidates from a queue.',
    path: '--queue',
    received: 'nothing',
    expected: '--queue redis://host:6379',
    hint: 'For several processes on this machine, no worker is needed: optimize --workers 2.',
  });

/** A job is judged in a process of its own, and a GPU has one. */
function refuseTwice([device, other]: readonly string[], workers: string | undefined): void {
  if (device !== other || !device!.startsWith('cuda:')) return;
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: 'A GPU judges one candidate of a queue at a time.',
    path: '--workers',
    received: `--device ${device} --workers ${workers}`,
    expected: '--workers with a virtual device',
    hint: 'Leave --workers out. `optimize --device cuda:0 --workers 2` judges two at a time.',
  });
}
