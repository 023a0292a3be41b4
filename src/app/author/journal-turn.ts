import { makeCandidate } from '../../core/candidate.ts';
import { messageOf, WarpsmithError } from '../../core/errors.ts';
import { type Evaluation, isWrongWhenTimed } from '../../core/evaluation.ts';
import { createTurns } from '../../core/in-turn.ts';
import type { Candidate, Kernel } from '../../core/kernel.ts';
import type { Problem, Workload } from '../../core/problem.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { refusingUnreached } from '../../core/unreached.ts';
import { untilAborted } from '../../core/until-aborted.ts';
import { nonEmpty } from '../../core/values.ts';
import { MOST_CAUGHT } from '../../optimizer/authoring/author.ts';
import { reasonToStop } from '../../optimizer/stopping.ts';
import { ensureTrustedFor } from '../loading/trust.ts';
import { drawSeed } from '../seed.ts';
import { type OnDevice, openSession, type Session } from '../session.ts';
import { loadProblemTarget } from '../target.ts';
import { chooseWorkload } from '../workload.ts';
import { type Allowance, openAllowance } from './allowance.ts';
import {
  addToLineage,
  attemptOf,
  candidateOf,
  evaluationOf,
  type Place,
  readLineage,
  type Submitted,
  timesCaught,
} from './lineage.ts';
import {
  isOpen,
  type Mutable,
  type Pending,
  type Said,
  type Search,
  START,
  type Turn,
  turnOver,
  unknownAttempt,
} from './turn.ts';
import { requireUsablePlan } from './usable-plan.ts';

export type TurnRequest = OnDevice<RequestOf<'mcp'>>;

const DEFAULT_EVALUATIONS = 30;

/** Names of candidates to measure beside, among the contenders of shared blocks. */
const PARENT = 'parent';

/** Said of a submission that nobody could judge. */
const NOT_YOURS =
  'The kernel is not to blame and the evaluation is given back. Submit the same files again: other shapes and inputs are drawn.';

/**
 * A turn that judges what its author submits, one candidate after the other, and keeps every attempt in the journal of the
 * store. Opens the device when it is first needed.
 */
export class JournalTurn implements Turn {
  readonly problem: Problem;
  readonly workload: Workload;
  readonly start: Candidate;
  readonly rungs: readonly Kernel[];
  readonly author: string;
  readonly showsRungs: boolean;
  readonly allowance: Allowance;
  readonly #options: TurnRequest & { readonly store: string };
  readonly #pending = new Map<string, Pending & { controller: AbortController }>();
  readonly #searches = new Map<string, Mutable<Search> & { controller: AbortController }>();
  readonly #ending = new AbortController();
  #session: Promise<Session> | undefined;
  /** Does work that needs the device, when nothing else does. */
  readonly inTurn = createTurns();

  constructor(
    parts: Pick<Turn, 'problem' | 'workload' | 'start' | 'rungs'> & {
      options: TurnRequest & { readonly store: string };
    },
  ) {
    const { options } = parts;
    this.#options = options;
    this.problem = parts.problem;
    this.workload = parts.workload;
    this.start = parts.start;
    this.rungs = parts.rungs;
    this.author = options.author ?? 'agent';
    this.showsRungs = options.showRungs ?? false;
    this.allowance = openAllowance({
      maximumEvaluations: options.maximumEvaluations ?? DEFAULT_EVALUATIONS,
      maximumMinutes: options.maximumMinutes ?? null,
    });
    options.signal?.addEventListener('abort', () => this.#ending.abort(options.signal?.reason), { once: true });
  }

  get place(): Place {
    return { store: this.#options.store, problem: this.problem, workload: this.workload, device: this.#options.device };
  }

  get device(): string {
    return this.#options.device;
  }

  /** Those of earlier connections and other authors, too. */
  lineage(): Submitted[] {
    return readLineage(this.place);
  }

  evaluationOf(attempt: Submitted): Evaluation | undefined {
    return evaluationOf(this.place, attempt);
  }

  get isOver(): boolean {
    return timesCaught(this.#options.store, this.problem.file.name, this.author) >= MOST_CAUGHT;
  }

  pending(): readonly Pending[] {
    return [...this.#pending.values()];
  }

  pendingOf(id: string): Pending | undefined {
    return this.#pending.get(id);
  }

  async submit(candidate: Candidate, said: Said): Promise<{ readonly isNew: boolean }> {
    if (this.isOver) throw turnOver(this.author, MOST_CAUGHT);
    // Nothing may be awaited from here to its place in the queue: the same files submitted twice at once would be judged twice.
    const { spec } = (await this.session()).device;
    if (isOpen(this.#pending.get(candidate.id)) || attemptOf(this.lineage(), candidate.id)) return { isNew: false };
    requireUsablePlan(this, candidate, spec);
    this.allowance.take(1);
    const controller = new AbortController();
    const pending: Mutable<Pending> & { controller: AbortController } = {
      candidate,
      said,
      state: 'waiting',
      controller,
      done: Promise.resolve(),
    };
    this.#pending.set(candidate.id, pending);
    const signal = AbortSignal.any([controller.signal, this.#ending.signal]);
    const end = (state: 'failed' | 'cancelled', reason: string): void => {
      // What was cancelled while it ran has used the device.
      if (state === 'failed' || pending.state === 'waiting') this.allowance.giveBack(1);
      const remark = state === 'failed' ? `${reason}. ${NOT_YOURS}` : reason;
      Object.assign(pending, { state, reason: remark });
    };
    pending.done = this.inTurn(async () => {
      if (signal.aborted) return end('cancelled', 'cancelled before it was judged');
      pending.state = 'running';
      pending.begunAt = Date.now();
      try {
        await this.#ensureStart(signal);
        const evaluation = await this.#judge(candidate, said, signal);
        if (evaluation.status === 'device-failed') return end('failed', evaluation.reason ?? 'the device failed');
        this.#keep(candidate, said, evaluation);
        this.#pending.delete(candidate.id);
      } catch (error) {
        if (signal.aborted) return end('cancelled', 'cancelled while it was judged');
        end('failed', messageOf(error));
        if (!(error instanceof WarpsmithError)) throw error;
      }
    }).catch((error: unknown) => this.#options.onStep?.(`bug: ${error instanceof Error ? error.stack : error}`));
    return { isNew: true };
  }

  searchOf(id: string): Search | undefined {
    return this.#searches.get(id);
  }

  search(candidate: Candidate, evaluations: number): string {
    if (this.isOver) throw turnOver(this.author, MOST_CAUGHT);
    if (Object.keys(candidate.kernel.file.parameters ?? {}).length === 0) throw noParameters(candidate);
    const known = attemptOf(this.lineage(), candidate.id);
    const timing = known && this.evaluationOf(known)?.timing;
    const stop = timing && reasonToStop(timing, 1, undefined);
    if (stop) throw nearBound(candidate, stop.detail);
    this.allowance.take(evaluations);
    const controller = new AbortController();
    const id = `search-${this.#searches.size + 1}`;
    const search: Mutable<Search> & { controller: AbortController } = {
      id,
      candidate,
      state: 'waiting',
      controller,
      done: Promise.resolve(),
    };
    this.#searches.set(id, search);
    const signal = AbortSignal.any([controller.signal, this.#ending.signal]);
    let used = 0;
    const run = async (): Promise<void> => {
      if (signal.aborted) {
        Object.assign(search, { state: 'cancelled', reason: 'cancelled before it began' });
        return;
      }
      search.state = 'running';
      await this.#ensureStart(signal);
      // A search that breaks off does not say how much it used.
      used = evaluations;
      used = await this.#search(search, evaluations, signal);
    };
    search.done = this.inTurn(run)
      .catch((error: unknown) => {
        Object.assign(search, { state: 'failed', reason: messageOf(error) });
      })
      .finally(() => this.allowance.giveBack(Math.max(0, evaluations - used)));
    return id;
  }

  /** @returns evaluations used. */
  async #search(search: Mutable<Search>, evaluations: number, signal: AbortSignal): Promise<number> {
    const { problem, workload } = this;
    const { searchParameters } = await import('./search-parameters.ts');
    const { store } = this.#options;
    const session = await this.session();
    const { candidate: start } = search;
    // The last one judges the best as what is handed in: a parameter may choose code that no other setting has.
    const most = Math.max(1, evaluations - 1);
    const result = await searchParameters({ session, store, problem, workload, start, evaluations: most, signal });
    const { best, evaluationsUsed } = result;
    const hypothesis = `the best of ${evaluationsUsed} evaluations over the parameters of ${start.id}`;
    const said = { hypothesis, predictedRatio: null, parent: start.id };
    const isJudged = best !== undefined && !signal.aborted && (await this.#judgeBest(best.candidate, said, signal));
    const isKnown = best !== undefined && attemptOf(this.lineage(), best.candidate.id) !== undefined;
    Object.assign(search, {
      state: signal.aborted ? 'cancelled' : 'finished',
      reason: `${evaluationsUsed} evaluations: ${result.detail}${best && !isKnown ? '; its best was not judged by itself' : ''}`,
      best: isKnown ? best.candidate.id : undefined,
    });
    return Math.min(evaluations, evaluationsUsed + Number(isJudged));
  }

  /** Judges the best of a search as what is handed in, unless that was done before. @returns whether it took an evaluation. */
  async #judgeBest(candidate: Candidate, said: Said, signal: AbortSignal): Promise<boolean> {
    if (attemptOf(this.lineage(), candidate.id)) return false;
    try {
      const evaluation = await this.#judge(candidate, said, signal);
      if (evaluation.status === 'device-failed') return false;
      this.#keep(candidate, said, evaluation);
    } catch (error) {
      // Cancelled while it ran, it has used the device.
      if (!signal.aborted) throw error;
    }
    return true;
  }

  cancel(id: string): boolean {
    const pending = this.#pending.get(id) ?? this.#searches.get(id);
    if (!pending || !isOpen(pending)) return false;
    pending.controller.abort(new Error('cancelled'));
    return true;
  }

  async judgedStart(): Promise<Submitted | undefined> {
    const known = attemptOf(this.lineage(), this.start.id);
    if (known) return known;
    await this.inTurn(() => this.#ensureStart(this.#ending.signal));
    return attemptOf(this.lineage(), this.start.id);
  }

  session(): Promise<Session> {
    this.#session ??= openSession({ ...this.#options, record: undefined, replay: undefined });
    return this.#session;
  }

  candidate(id: string): Candidate {
    if (id === START || id === this.start.id) return this.start;
    const pending = this.#pending.get(id);
    if (pending) return pending.candidate;
    const attempt = attemptOf(this.lineage(), id);
    if (attempt) return candidateOf(this.place, attempt);
    throw unknownAttempt(id, this.lineage());
  }

  /** Ends all work, and the processes behind it. */
  async close(): Promise<void> {
    this.#ending.abort(new Error('the connection was closed'));
    await this.inTurn(async () => undefined);
    const session = await this.#session?.catch(() => undefined);
    await session?.[Symbol.asyncDispose]();
  }

  async #ensureStart(signal: AbortSignal): Promise<void> {
    if (attemptOf(this.lineage(), this.start.id)) return;
    this.#options.onStep?.('judging the start');
    const said = { hypothesis: '', predictedRatio: null, parent: null };
    const evaluation = await this.#judge(this.start, said, signal);
    if (evaluation.status === 'device-failed') throw deviceFailed(evaluation);
    this.#keep(this.start, { ...said, hypothesis: 'the start' }, evaluation, 'warpsmith');
  }

  /** A fresh seed for each: whoever wrote the candidate can't have known it. */
  async #judge(candidate: Candidate, { parent }: Said, signal: AbortSignal): Promise<Evaluation> {
    const session = await this.session();
    const measures = session.device.identity.kind === 'cuda';
    const beside = measures && candidate !== this.start ? this.#beside(parent) : [];
    const isRefused = candidate !== this.start && this.#options.unreached === 'refuse';
    this.#options.onStep?.(`judging ${candidate.kernel.file.name} (${candidate.id})`);
    const work = session.evaluator.evaluate({
      problem: this.problem,
      candidate,
      workload: this.workload,
      seed: drawSeed(),
      id: 'e0',
      // As a winner is verified: whoever writes kernels until one passes is not to pass by chance.
      thorough: candidate !== this.start,
      watched: isRefused,
      signal,
      ...(measures && { tier: 'accept', profile: 'light', against: nonEmpty(beside) }),
    });
    const evaluation = await untilAborted(work, signal);
    return isRefused ? refusingUnreached(evaluation) : evaluation;
  }

  /** On a real GPU only times of the same blocks give a ratio. */
  #beside(parent: string | null): { name: string; candidate: Candidate }[] {
    const lineage = this.lineage();
    const passed = (id: string): boolean => attemptOf(lineage, id)?.results[0]?.status === 'passed';
    const named = [
      { name: START, id: this.start.id },
      ...(parent === null || parent === this.start.id ? [] : [{ name: PARENT, id: parent }]),
    ];
    return named.flatMap(({ name, id }) => (passed(id) ? [{ name, candidate: this.candidate(id) }] : []));
  }

  #keep(candidate: Candidate, said: Said, evaluation: Evaluation, author = this.author): void {
    const ratios = {
      ratioToParent: said.parent === null ? null : this.#ratioTo(said.parent, evaluation),
      ratioToStart: candidate === this.start ? null : this.#ratioTo(this.start.id, evaluation),
    };
    addToLineage(this.place, { candidate, evaluation, said: { ...said, author }, ratios });
    if (isWrongWhenTimed(evaluation))
      this.#options.onStep?.(`${candidate.id} was right when verified and wrong when timed`);
  }

  /** Its time ÷ the evaluation's; `null` if one has none, or measured times come from different blocks. */
  #ratioTo(id: string, evaluation: Evaluation): number | null {
    if (evaluation.status !== 'passed' || !evaluation.timing) return null;
    if (evaluation.timing.kind === 'measured') {
      const name = id === this.start.id ? START : PARENT;
      return evaluation.comparisons?.find(({ baseline }) => baseline === name)?.ratio ?? null;
    }
    const attempt = attemptOf(this.lineage(), id);
    const before = attempt && this.evaluationOf(attempt);
    if (before?.status !== 'passed' || before.timing?.kind !== 'predicted') return null;
    return before.timing.medianNs / evaluation.timing.medianNs;
  }
}

const nearBound = ({ id }: Candidate, detail: string): WarpsmithError =>
  new WarpsmithError({
    code: 'near-attainable',
    message: `A search from ${id} would end at once and cost evaluations: ${detail}.`,
    received: id,
    expected: 'a kernel that is further from the bound',
    hint: 'Submit single settings if you expect to pass the bound, for example with another algorithm or data type.',
  });

const noParameters = ({ id, kernel }: Candidate): WarpsmithError =>
  new WarpsmithError({
    code: 'no-parameters',
    message: `${kernel.file.name} has no parameters to search over.`,
    file: 'submission/kernel.json',
    path: 'parameters',
    received: id,
    expected: 'a kernel that declares parameters with their values',
    hint: 'Make tile sizes and the like parameters, submit it, and search then.',
  });

const deviceFailed = ({ reason, device }: Evaluation): WarpsmithError =>
  new WarpsmithError({ code: 'device-failed', message: `${device.name} failed: ${reason ?? 'no reason given'}` });

/**
 * Opens an author's turn.
 *
 * @throws WarpsmithError for bad files or options, and for a problem whose reference may not run.
 */
export async function openTurn(asked: TurnRequest): Promise<JournalTurn> {
  const options = completeRequest('mcp', asked);
  const { problem, start, rungs } = await loadProblemTarget(options.target, options.dtype);
  const workload = chooseWorkload(problem.file, options.workload, options.cache);
  await ensureTrustedFor(options, problem);
  return new JournalTurn({ options, problem, workload, start: makeCandidate(start, {}), rungs });
}
