import type { DeviceIdentity } from '../../core/device.ts';
import type { Evaluation, EvaluationRequest, Evaluator } from '../../core/evaluation.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { Problem } from '../../core/problem.ts';
import { WorkerProcessEnded } from '../../process/worker-process.ts';
import { notJudged } from '../recording/not-judged.ts';

/** One that judges a candidate at a time: a worker process with a device of its own, or a session of this process that shares its GPU with others. */
export interface Seat {
  readonly device: DeviceIdentity;
  /** Rejects with a {@link WorkerProcessEnded} if its process ended. The next request starts another one. */
  evaluate(request: EvaluationRequest): Promise<Evaluation>;
  /** Compiles ahead, beside what it judges; false if it can't, as where its process has ended or would lack the cores. Never fails. */
  prepare?(candidates: readonly Candidate[], problem: Problem): boolean;
  close(): Promise<void>;
}

/** Processes that may end over one request. The first may have been killed by chance. */
const MOST_LOST = 2;
/** Failures of a device in a row after which it gets no more requests, as long as another device works. */
const MOST_DEVICE_FAILURES = 2;

interface Waiting {
  readonly request: EvaluationRequest;
  lost: number;
  resolve(evaluation: Evaluation): void;
  reject(error: unknown): void;
}

/**
 * An evaluator of several seats on this machine. The first idle one takes a request, so a lone request is always judged on the same device; but
 * whoever judged its candidate before comes first, unless it is to be verified anew. If a process ends over a request, another takes it, and the ended one is started again: no request is
 * lost, and none is answered twice. A device that fails again and again gets no more requests.
 */
export class LocalPool implements Evaluator {
  readonly #seats: readonly Seat[];
  readonly #busy = new Set<Seat>();
  readonly #retired = new Set<Seat>();
  readonly #failures = new Map<Seat, number>();
  readonly #waiting: Waiting[] = [];
  /** Ids of candidates, and who compiles them ahead or has compiled them. If its process ends, nobody knows how far it came. */
  readonly #prepared = new Map<string, Seat>();
  /** Ids of candidates, and who judged them last: it has verified them, and may have loaded what they need. */
  readonly #judgedBy = new Map<string, Seat>();
  #isClosed = false;
  /** All requests are about one. */
  #problem: Problem | undefined;

  constructor(seats: readonly Seat[]) {
    this.#seats = seats;
  }

  get capacity(): number {
    return this.#seats.length - this.#retired.size;
  }

  evaluate(request: EvaluationRequest): Promise<Evaluation> {
    if (this.#isClosed) return Promise.reject(new Error('the pool of workers is closed'));
    this.#problem ??= request.problem;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, lost: 0, resolve, reject });
      this.#assign();
    });
  }

  /** Virtual devices share the cores with the first; what shares its GPU would keep it waiting. */
  rehearse(request: EvaluationRequest): void {
    this.#problem ??= request.problem;
    const [first, ...others] = this.#seats;
    for (const seat of others) {
      const isShared = seat.device.kind === 'virtual' || seat.device.id === first!.device.id;
      if (isShared || this.#busy.has(seat)) continue;
      this.#busy.add(seat);
      const over = (error?: unknown): void => {
        if (error instanceof WorkerProcessEnded) this.#forgetPrepared(seat);
        this.#busy.delete(seat);
        this.#assign();
      };
      // A failure is told by the request that meets it next.
      seat.evaluate(request).then(() => over(), over);
    }
  }

  /** In turns: what one has compiled, the others find. Callers name a candidate until they ask for it; it is compiled ahead once. */
  prepare(candidates: readonly Candidate[]): void {
    const able = this.#seats.filter((seat) => seat.prepare && !this.#retired.has(seat));
    if (!this.#problem || able.length === 0) return;
    const shares = new Map<Seat, Candidate[]>();
    for (const candidate of candidates) {
      if (this.#prepared.has(candidate.id)) continue;
      const seat = able[this.#prepared.size % able.length]!;
      this.#prepared.set(candidate.id, seat);
      shares.set(seat, [...(shares.get(seat) ?? []), candidate]);
    }
    for (const [seat, share] of shares) if (!seat.prepare!(share, this.#problem)) this.#forgetPrepared(seat);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('the pool of workers was closed'));
    await Promise.all(this.#seats.map((seat) => seat.close()));
  }

  #forgetPrepared(seat: Seat): void {
    for (const [id, by] of this.#prepared) if (by === seat) this.#prepared.delete(id);
  }

  #assign(): void {
    const idle = this.#seats.filter((seat) => !this.#busy.has(seat) && !this.#retired.has(seat));
    while (idle.length > 0 && this.#waiting.length > 0) {
      const waiting = this.#waiting.shift()!;
      const { candidate, thorough = false } = waiting.request;
      // A confirmation verifies anew, and is the first device's.
      const knows = thorough ? 0 : idle.indexOf(this.#judgedBy.get(candidate.id)!);
      const [seat] = idle.splice(Math.max(0, knows), 1);
      void this.#work(seat!, waiting);
    }
  }

  async #work(seat: Seat, waiting: Waiting): Promise<void> {
    this.#busy.add(seat);
    this.#judgedBy.set(waiting.request.candidate.id, seat);
    try {
      waiting.request.signal?.throwIfAborted();
      const evaluation = await seat.evaluate(waiting.request);
      if (this.#givesUp(seat, evaluation)) this.#waiting.unshift(waiting);
      else waiting.resolve(evaluation);
    } catch (error) {
      this.#lose(seat, waiting, error);
    }
    this.#busy.delete(seat);
    this.#assign();
  }

  #lose(seat: Seat, waiting: Waiting, error: unknown): void {
    const { request } = waiting;
    this.#judgedBy.delete(request.candidate.id);
    if (error instanceof WorkerProcessEnded) this.#forgetPrepared(seat);
    if (!(error instanceof WorkerProcessEnded) || request.signal?.aborted || this.#isClosed) {
      waiting.reject(error);
      return;
    }
    waiting.lost += 1;
    if (waiting.lost < MOST_LOST) this.#waiting.unshift(waiting);
    else waiting.resolve(notJudged(request, seat.device, `${waiting.lost} workers ended over it; ${error.message}`));
  }

  /** Whether the device is given up, so that another has to judge the candidate. */
  #givesUp(seat: Seat, { status }: Evaluation): boolean {
    const failures = status === 'device-failed' ? (this.#failures.get(seat) ?? 0) + 1 : 0;
    this.#failures.set(seat, failures);
    if (failures < MOST_DEVICE_FAILURES || this.capacity === 1) return false;
    this.#retired.add(seat);
    return true;
  }
}
