import type { DeviceIdentity } from '../../core/device.ts';
import { type ErrorDetails, WarpsmithError } from '../../core/errors.ts';
import type { Evaluation, EvaluationRequest, Evaluator } from '../../core/evaluation.ts';
import type { Problem } from '../../core/problem.ts';
import { JobFailed, type JobQueue } from '../../queue/job-queue.ts';
import { notJudged } from '../recording/not-judged.ts';
import { type Answer, hashJob, type Job, jobOf, type Requirements, unpack } from './job.ts';

/** What a worker is sent: a job, and its hash. */
export interface SentJob {
  readonly hash: string;
  readonly job: Job;
}

/** What it sends back. A mistake of the user comes back as a value. */
export type SentAnswer =
  | { readonly by: Requirements; readonly ok: true; readonly answer: PackedAnswer }
  | { readonly by: Requirements; readonly ok: false; readonly error: ErrorDetails; readonly exitCode: number };

type Packed = { readonly text: string } | { readonly base64: string };
type PackedAnswer = Pick<Answer, 'evaluation'> & { readonly contents: readonly Packed[] };

export const packAnswer = ({ evaluation, contents }: Answer): PackedAnswer => ({
  evaluation,
  contents: contents.map((content) =>
    typeof content === 'string' ? { text: content } : { base64: Buffer.from(content).toString('base64') },
  ),
});

const unpackAnswer = ({ evaluation, contents }: PackedAnswer): Answer => ({
  evaluation,
  contents: contents.map((one) => ('text' in one ? one.text : Buffer.from(one.base64, 'base64'))),
});

export interface QueuePoolOptions {
  readonly queue: JobQueue;
  readonly requires: Requirements;
  /** What is said to have judged where nobody could. */
  readonly device: DeviceIdentity;
  /** Names jobs of this run, also when it is resumed: two runs never share an answer. */
  readonly scope: string;
  /** The files of a problem by name, with their SHA-256 and contents. */
  readonly filesOf: (problem: Problem) => ReadonlyMap<string, { readonly sha256: string; read(): Uint8Array }>;
  /** How many workers are there that can take its jobs. */
  readonly countWorkers: () => Promise<number>;
}

/** How often workers are counted. */
const COUNT_MS = 2_000;
/** Digits of a job's hash in its name. */
const NAME_DIGITS = 32;

/** Confirmations and what follows them before the search: everybody waits for those. */
const priorityOf = ({ thorough }: EvaluationRequest): number => (thorough ? 1 : 2);

/** An evaluator of workers anywhere, which take jobs from a queue. */
export class QueuePool implements Evaluator {
  readonly #options: QueuePoolOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #listeners = new Set<() => void>();
  #capacity = 1;

  constructor(options: QueuePoolOptions) {
    this.#options = options;
    void this.#count();
    this.#timer = setInterval(() => void this.#count(), COUNT_MS);
  }

  get capacity(): number {
    return this.#capacity;
  }

  onCapacity(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async evaluate(request: EvaluationRequest): Promise<Evaluation> {
    const { queue, requires, device, scope, filesOf } = this.#options;
    const files = filesOf(request.problem);
    const job = jobOf(request, Object.fromEntries([...files].map(([name, { sha256 }]) => [name, sha256])), requires);
    const hash = hashJob(job);
    const ask = {
      id: `${scope}-${hash.slice(0, NAME_DIGITS)}`,
      body: JSON.stringify({ hash, job } satisfies SentJob),
      files: new Map([...files.values()].map(({ sha256, read }) => [sha256, read])),
      priority: priorityOf(request),
      refuse: (text: string) => refusalOf(JSON.parse(text), requires),
      signal: request.signal,
    };
    try {
      const sent = JSON.parse(await queue.ask(ask)) as SentAnswer;
      if (sent.ok) return unpack(unpackAnswer(sent.answer), request);
      throw new WarpsmithError(sent.error, sent.exitCode);
    } catch (error) {
      if (error instanceof JobFailed) return notJudged(request, device, error.message);
      throw error;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#options.queue.close();
  }

  async #count(): Promise<void> {
    const before = this.#capacity;
    // Where none is there, one request waits for the next.
    this.#capacity = Math.max(1, await this.#options.countWorkers().catch(() => before));
    if (this.#capacity > before) for (const listener of [...this.#listeners]) listener();
  }
}

const WORDS: Readonly<Record<keyof Requirements, string>> = {
  device: 'device',
  warpsmith: 'warpsmith',
  code: 'build of warpsmith',
  compiler: 'compiler',
  driver: 'driver',
};

/** In what a worker differs from what a job requires; undefined if in nothing. */
export function otherThan(requires: Requirements, offers: Requirements): string | undefined {
  const differing = (Object.keys(WORDS) as (keyof Requirements)[]).filter((name) => requires[name] !== offers[name]);
  if (differing.length === 0) return undefined;
  const shown = (value: string | null): string => (value === null ? 'none' : value.slice(0, 40));
  return differing.map((name) => `${WORDS[name]} ${shown(offers[name])}, not ${shown(requires[name])}`).join('; ');
}

function refusalOf({ by, ...sent }: SentAnswer, requires: Requirements): string | undefined {
  const other = otherThan(requires, by);
  if (other !== undefined) return `refused the answer of a worker with another ${other}`;
  if (!sent.ok) return undefined;
  const { name } = sent.answer.evaluation.device;
  return name === requires.device
    ? undefined
    : `refused an answer from ${name}, where ${requires.device} was asked for`;
}
