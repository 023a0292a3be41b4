import type { PlannedBuffer } from '../../../core/launch-plan.ts';
import { evaluateScalars } from '../../../core/plan/scope.ts';
import type { Problem, Workload } from '../../../core/problem.ts';
import { median } from '../../../stats/quantile.ts';
import { createStream } from '../../../stats/random.ts';
import type { Contender, ContenderBlock, ContenderFailure, Ring } from '../../measure/contender.ts';
import { drawRuleOf } from '../../measure/draw-rules.ts';
import { DECLARED } from '../../oracle/check.ts';
import { disagreement } from '../../oracle/disagreement.ts';
import type { ExpectationCache, PreparedCheck } from '../../oracle/expectation-cache.ts';
import { bufferMessage } from './messages.ts';
import type { SessionAnswer, SessionFailure, SessionRequest, WorkerSession } from './worker-session.ts';

/** A library call or compiled code for the Python worker: its preparation, and its expected outputs. */
export interface LibrarySubject {
  readonly name: string;
  readonly session: WorkerSession;
  readonly problem: Problem;
  readonly workload: Workload;
  readonly oracle: ExpectationCache;
  /** Seeds the inputs of the check. */
  readonly seed: number;
  /** Buffers of a slot: the problem's, and a kernel's workspaces. */
  readonly buffers: readonly PlannedBuffer[];
  /** The request that prepares it in the worker; the answer has a `handle`. */
  readonly prepare: SessionRequest;
}

/** The worker's request for a baseline of baseline.py. */
export const prepareBaseline = (
  name: string,
  { problem, workload, buffers }: Pick<LibrarySubject, 'problem' | 'workload' | 'buffers'>,
): SessionRequest => ({
  command: 'prepare',
  baseline: name,
  dimensions: workload.dimensions,
  scalars: evaluateScalars(problem.file, workload.dimensions),
  buffers: buffers.map((buffer) => bufferMessage(buffer, ruleOf(buffer, workload))),
});

/** The rule by which the GPU draws an input; undefined if only the host can draw it. */
export const ruleOf = (buffer: PlannedBuffer, { dimensions }: Workload) =>
  buffer.role === 'in' || buffer.role === 'inout' ? drawRuleOf(buffer, dimensions) : undefined;

/** For the estimate: sequences per replay, and the number of replays, of which the quickest counts. */
const ESTIMATE_SEQUENCES = 8;
const ESTIMATE_REPLAYS = 3;
const EAGER_CALLS = 21;

/** A library call as a contender. It counts only after its outputs were compared with the oracle. */
export class LibraryContender implements Contender {
  readonly kind = 'library';
  readonly #subject: LibrarySubject;
  /** The worker's handle, and the process it belongs to. */
  #ready: { handle: number; generation: number } | undefined;

  constructor(subject: LibrarySubject) {
    this.#subject = subject;
  }

  get name(): string {
    return this.#subject.name;
  }

  get slotBytes(): number {
    return this.#subject.buffers.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Prepares the call in the current worker and compares its outputs, once per worker process. */
  async prepare(): Promise<{ ok: true; handle: number } | ContenderFailure> {
    const { session, prepare } = this.#subject;
    if (this.#ready && this.#ready.generation === session.generation && session.processId !== undefined)
      return { ok: true, handle: this.#ready.handle };
    const prepared = await session.request(prepare);
    if (!prepared.ok) return failure(prepared);
    const handle = prepared.fields.handle as number;
    const wrong = await this.#check(handle);
    if (wrong) return wrong;
    this.#ready = { handle, generation: prepared.generation };
    return { ok: true, handle };
  }

  async estimateNs(): Promise<{ ok: true; ns: number; eagerNs?: number } | ContenderFailure> {
    const ring: Ring = {
      cache: 'hot',
      slotCount: ESTIMATE_SEQUENCES,
      ringBytes: ESTIMATE_SEQUENCES * this.slotBytes,
      sequencesPerReplay: ESTIMATE_SEQUENCES,
      rereadsInputs: false,
      replaysPerSample: 1,
    };
    const opened = await this.openBlock(ring, 1, false);
    if (!opened.ok) return opened;
    let best = Number.POSITIVE_INFINITY;
    for (let replay = 0; replay < ESTIMATE_REPLAYS; replay++) {
      const sampled = await opened.block.sample(replay);
      if (!sampled.ok) {
        await opened.block.discard();
        return sampled;
      }
      best = Math.min(best, sampled.ns);
    }
    const closed = await opened.block.close();
    if (!closed.ok) return closed;
    const eagerNs = await this.#eagerNs();
    return { ok: true, ns: Math.max(1, best), eagerNs };
  }

  async openBlock(
    ring: Ring,
    seed: number,
    comparesSlot: boolean,
  ): Promise<{ ok: true; block: ContenderBlock } | ContenderFailure> {
    const ready = await this.prepare();
    if (!ready.ok) return ready;
    const { session, buffers, workload } = this.#subject;
    const check = this.#preparedCheck();
    const fixed = buffers.filter(
      (buffer) => check.inputs.bytes.has(buffer.name) && ruleOf(buffer, workload) === undefined,
    );
    const overhead = await session.request({ command: 'overhead' });
    if (!overhead.ok) return failure(overhead);
    const opened = await session.request({
      command: 'openBlock',
      subject: ready.handle,
      slotCount: ring.slotCount,
      sequencesPerReplay: ring.sequencesPerReplay,
      seed,
      inputs: fixed.map(({ name }) => name),
      payloads: fixed.map(({ name }) => check.inputs.bytes.get(name)!),
    });
    if (!opened.ok) return failure(opened);
    const block = new LibraryBlock({
      session,
      check,
      ring,
      comparesSlot,
      handle: opened.fields.handle as number,
      generation: opened.generation,
      replayOverheadNs: overhead.fields.ns as number,
      inputs: fixed.length === 0 ? 'drawn-on-device' : 'drawn-on-host',
    });
    return { ok: true, block };
  }

  /** Median device time of a single call; undefined if it fails. */
  async #eagerNs(): Promise<number | undefined> {
    const ready = await this.prepare();
    if (!ready.ok) return undefined;
    const answer = await this.#subject.session.request({ command: 'eager', subject: ready.handle, calls: EAGER_CALLS });
    return answer.ok ? median(answer.fields.ns as number[]) : undefined;
  }

  async #check(handle: number): Promise<ContenderFailure | undefined> {
    const check = this.#preparedCheck();
    const inputs = [...check.inputs.bytes];
    const answer = await this.#subject.session.request({
      command: 'check',
      subject: handle,
      inputs: inputs.map(([name]) => name),
      payloads: inputs.map(([, bytes]) => bytes),
    });
    if (!answer.ok) return failure(answer);
    const wrong = await describeWrong(check, outputsOfAnswer(answer));
    return wrong === undefined ? undefined : { ok: false, status: 'wrong', reason: wrong };
  }

  #preparedCheck(): PreparedCheck {
    const { oracle, problem, workload, seed } = this.#subject;
    return oracle.check({ problem, seed, dimensions: workload.dimensions, generatorSet: DECLARED });
  }
}

interface LibraryBlockOptions {
  readonly session: WorkerSession;
  readonly check: PreparedCheck;
  readonly ring: Ring;
  readonly comparesSlot: boolean;
  readonly handle: number;
  readonly generation: number;
  readonly replayOverheadNs: number;
  readonly inputs: ContenderBlock['inputs'];
}

/**
 * Runs one block in the worker. A secret slot of each sample holds inputs whose right outputs are known; the slot of the
 * last sample is compared.
 */
class LibraryBlock implements ContenderBlock {
  readonly #options: LibraryBlockOptions;
  #plantedSlot: number | undefined;
  checkedSlotCount = 0;

  constructor(options: LibraryBlockOptions) {
    this.#options = options;
  }

  get replayOverheadNs(): number {
    return this.#options.replayOverheadNs;
  }

  get inputs(): ContenderBlock['inputs'] {
    return this.#options.inputs;
  }

  async sample(seed: number): Promise<{ ok: true; ns: number } | ContenderFailure> {
    const { ring, replayOverheadNs } = this.#options;
    const stream = createStream(seed, 'replays');
    let totalNs = 0;
    for (let replay = 0; replay < ring.replaysPerSample; replay++) {
      const replaySeed = stream.bits(replay);
      const plantedSlot = createStream(replaySeed, 'planted slot').bits(0) % ring.slotCount;
      const { rereadsInputs } = ring;
      const answer = await this.#request({ command: 'sample', seed: replaySeed, plantedSlot, rereadsInputs });
      if (!answer.ok) return failure(answer);
      this.#plantedSlot = plantedSlot;
      totalNs += Math.max(0, (answer.fields.ns as number) - replayOverheadNs);
    }
    return { ok: true, ns: totalNs / (ring.replaysPerSample * ring.sequencesPerReplay) };
  }

  async close(): Promise<{ ok: true } | ContenderFailure> {
    try {
      return await this.#checkPlanted();
    } finally {
      await this.discard();
    }
  }

  async discard(): Promise<void> {
    await this.#request({ command: 'closeBlock' });
  }

  async #checkPlanted(): Promise<{ ok: true } | ContenderFailure> {
    const slot = this.#plantedSlot;
    if (slot === undefined || !this.#options.comparesSlot) return { ok: true };
    const answer = await this.#request({ command: 'readSlot', slot });
    if (!answer.ok) return failure(answer);
    const wrong = await describeWrong(this.#options.check, outputsOfAnswer(answer));
    this.checkedSlotCount += 1;
    if (wrong === undefined) return { ok: true };
    const where = `call ${slot + 1} of ${this.#options.ring.slotCount}`;
    return { ok: false, status: 'wrong', reason: `right when checked, wrong when timed (${where}): ${wrong}` };
  }

  async #request(request: SessionRequest): Promise<SessionAnswer | SessionFailure> {
    const { session, handle, generation } = this.#options;
    if (session.generation !== generation || session.processId === undefined) {
      const reason = 'the Python worker ended while the block was open';
      return { ok: false, kind: 'exited', status: 'crashed', reason };
    }
    return session.request({ ...request, block: handle });
  }
}

const failure = ({ status, reason }: SessionFailure): ContenderFailure => ({ ok: false, status, reason });

const outputsOfAnswer = ({ fields, payloads }: SessionAnswer): ReadonlyMap<string, Uint8Array> =>
  new Map((fields.outputs as string[]).map((name, i) => [name, payloads[i]!]));

/** The oracle's objection to the outputs; undefined if there is none. */
async function describeWrong(
  { buffers, expectations, surerExpectations }: PreparedCheck,
  outputs: ReadonlyMap<string, Uint8Array>,
): Promise<string | undefined> {
  const wrong = disagreement(buffers, await expectations(), outputs);
  return wrong !== undefined && surerExpectations ? disagreement(buffers, await surerExpectations(), outputs) : wrong;
}
