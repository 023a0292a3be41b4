import { WarpsmithError } from '../../../core/errors.ts';
import { type Evaluation, isWrongWhenTimed } from '../../../core/evaluation.ts';
import type { Candidate, Kernel } from '../../../core/kernel.ts';
import type { Problem, Workload } from '../../../core/problem.ts';
import type { Attempt, Member, Told } from '../../../optimizer/authoring/author.ts';
import { attemptCandidate, attemptResult } from '../../journal.ts';
import type { Session } from '../../session.ts';
import type { Left } from '../allowance.ts';
import type { Submitted } from '../lineage.ts';
import {
  isOpen,
  type Mutable,
  type Pending,
  type Said,
  type Search,
  START,
  type Turn,
  unknownAttempt,
} from '../turn.ts';
import { requireUsablePlan } from '../usable-plan.ts';

/** Something an agent handed in, on its way to the loop. */
export interface Handed extends Mutable<Pending> {
  /** It was refused, and would be again. */
  isFinal: boolean;
  settle(): void;
}

/** What a step may use. */
export interface Share {
  /** Evaluations of the run at which its share ends. */
  readonly lastEvaluation: number;
  /** In `performance.now()`. */
  readonly endsAtMs: number;
}

export interface RunTurnParts extends Pick<Turn, 'problem' | 'workload' | 'start' | 'rungs' | 'showsRungs'> {
  readonly session: Session;
}

const MS_PER_MINUTE = 60_000;

/**
 * The turn of agents in a run. It judges nothing: what is submitted waits until the loop takes it, and the loop tells what came of it.
 * Only one of them uses the device at a time.
 */
export class RunTurn implements Turn {
  readonly problem: Problem;
  readonly workload: Workload;
  readonly start: Candidate;
  readonly rungs: readonly Kernel[];
  readonly showsRungs: boolean;
  readonly isOver = false;
  readonly #session: Session;
  readonly #attempts: Submitted[] = [];
  readonly #evaluations = new Map<Submitted, Evaluation>();
  readonly #candidates = new Map<string, Candidate>();
  /** As it was handed in → as the loop named it. */
  readonly #renamed = new Map<string, string>();
  readonly #pending = new Map<string, Handed>();
  readonly #waiting: Handed[] = [];
  #handed: Handed | undefined;
  #arrived = Promise.withResolvers<void>();
  #share: Share | undefined;
  #evaluationsUsed = 0;
  #device: Promise<unknown> = Promise.resolve();

  constructor(parts: RunTurnParts) {
    this.problem = parts.problem;
    this.workload = parts.workload;
    this.start = parts.start;
    this.rungs = parts.rungs;
    this.showsRungs = parts.showsRungs;
    this.#session = parts.session;
  }

  get allowance(): Turn['allowance'] {
    return {
      left: () => this.#left(),
      take: () => this.#refuse('compare', 'every submission is measured beside its parent anyway'),
    };
  }

  /** Lets an agent in; everything that waits from the step before goes. */
  begin(share: Share): void {
    this.#share = share;
  }

  /** Lets nobody in any more. */
  end(): void {
    this.#share = undefined;
    for (const handed of this.#pending.values()) {
      if (isOpen(handed)) this.#drop(handed, 'cancelled', 'the step has ended');
    }
    this.#waiting.length = 0;
    this.#handed = undefined;
  }

  /** Whether the step can be handed no further evaluation. */
  get isSpent(): boolean {
    return this.#left().evaluations <= 0 && this.#waiting.length === 0;
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** The next submission, if there is one already. */
  take(): Handed | undefined {
    const handed = this.#waiting.shift();
    if (!handed) return undefined;
    handed.state = 'running';
    this.#handed = handed;
    return handed;
  }

  /** Settles when something was submitted that was not taken. */
  arrival(): Promise<void> {
    if (this.#waiting.length > 0) return Promise.resolve();
    this.#arrived = Promise.withResolvers<void>();
    return this.#arrived.promise;
  }

  /** What is judged stays readable for all steps. */
  note(told: Told, author: string): void {
    const { candidate, isSetting, attempt, refusal, mayComeAgain = false, evaluationsUsed } = told;
    this.#evaluationsUsed = evaluationsUsed;
    const handed = isSetting ? undefined : this.#handed;
    this.#handed = isSetting ? this.#handed : undefined;
    if (handed && handed.candidate.id !== candidate.id) this.#renamed.set(handed.candidate.id, candidate.id);
    if (attempt?.judged) this.#keep(attempt, isSetting, author);
    if (!handed) return;
    if (refusal === undefined) this.#forget(handed);
    else this.#drop(handed, 'failed', refusal, !mayComeAgain);
  }

  /** What was taken is refused before the loop sees it. */
  refuse(reason: string): void {
    if (this.#handed) this.#drop(this.#handed, 'failed', reason, true);
    this.#handed = undefined;
  }

  /** The run's start and what it was judged. */
  keepStart({ candidate, evaluation }: Member, evaluationsUsed: number): void {
    this.#evaluationsUsed = evaluationsUsed;
    if (this.#attempts.some(({ candidate: { id } }) => id === candidate.id)) return;
    const said = { hypothesis: 'the start', predictedRatio: null, parent: null };
    this.#add(candidate, evaluation, { ...said, author: 'warpsmith', ratioToParent: null, ratioToStart: null });
  }

  session(): Promise<Session> {
    return Promise.resolve(this.#session);
  }

  /** Waits for the device. @returns how to give it back. */
  async occupy(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#device;
    this.#device = promise;
    await before;
    return resolve;
  }

  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.occupy();
    try {
      // The step may have ended while it waited.
      this.#requireShare();
      return await work();
    } finally {
      release();
    }
  }

  lineage(): Submitted[] {
    return this.#attempts;
  }

  evaluationOf(attempt: Submitted): Evaluation | undefined {
    return this.#evaluations.get(attempt);
  }

  pending(): readonly Pending[] {
    return [...this.#pending.values()];
  }

  pendingOf(id: string): Pending | undefined {
    return this.#pending.get(id);
  }

  async submit(candidate: Candidate, said: Said): Promise<{ readonly isNew: boolean }> {
    const share = this.#requireShare();
    const known = this.#pending.get(candidate.id);
    if (isOpen(known) || known?.isFinal || this.#candidates.has(this.#nameOf(candidate.id))) return { isNew: false };
    requireUsablePlan(this, candidate, this.#session.device.spec);
    if (!(performance.now() < share.endsAtMs)) throw spent('its time is over');
    if (!(this.#left().evaluations >= 1)) throw spent('its share of evaluations is used');
    const { promise: done, resolve: settle } = Promise.withResolvers<void>();
    const handed: Handed = { candidate, said, state: 'waiting', isFinal: false, done, settle };
    this.#pending.set(candidate.id, handed);
    this.#waiting.push(handed);
    this.#arrived.resolve();
    return { isNew: true };
  }

  searchOf(): Search | undefined {
    return undefined;
  }

  search(): string {
    throw this.#refuse('start', 'parameters of a kernel that passes are searched without being asked');
  }

  cancel(id: string): boolean {
    const pending = this.#pending.get(id);
    if (pending?.state !== 'waiting') return false;
    this.#waiting.splice(this.#waiting.indexOf(pending), 1);
    this.#drop(pending, 'cancelled', 'cancelled before it was judged');
    return true;
  }

  async judgedStart(): Promise<Submitted | undefined> {
    return this.#attempts.find(({ candidate }) => candidate.id === this.start.id);
  }

  candidate(id: string): Candidate {
    if (id === START || id === this.start.id) return this.start;
    const found = this.#candidates.get(this.#nameOf(id)) ?? this.#pending.get(id)?.candidate;
    if (found) return found;
    throw unknownAttempt(id, this.#attempts);
  }

  #nameOf(id: string): string {
    return this.#renamed.get(id) ?? id;
  }

  #left(): Left {
    if (!this.#share) return { evaluations: 0, minutes: 0 };
    const { lastEvaluation, endsAtMs } = this.#share;
    const minutes = Math.max(0, Math.floor((endsAtMs - performance.now()) / (MS_PER_MINUTE / 10)) / 10);
    const open = this.#waiting.length + (this.#handed ? 1 : 0);
    return { evaluations: Math.max(0, lastEvaluation - this.#evaluationsUsed - open), minutes };
  }

  #requireShare(): Share {
    if (this.#share) return this.#share;
    throw spent('the step has ended');
  }

  #refuse(tool: string, why: string): never {
    throw new WarpsmithError({
      code: 'not-in-a-run',
      message: `${tool} is not for agents that a run began: ${why}.`,
      received: tool,
      expected: 'submit, and wait for what came of it',
      hint: 'Submit the kernel.',
    });
  }

  #keep({ parent, hypothesis, predictedRatio, judged }: Attempt, isSetting: boolean, author: string): void {
    const { candidate, evaluation, ratioToParent, ratioToStart } = judged!;
    const what = isSetting ? `a setting of it that warpsmith tried; of “${hypothesis}”` : hypothesis;
    const said = { author, parent, hypothesis: what, predictedRatio: isSetting ? null : predictedRatio };
    this.#add(candidate, evaluation, { ...said, ratioToParent, ratioToStart });
  }

  #add(
    candidate: Candidate,
    evaluation: Evaluation,
    authored: Omit<Submitted['authored'], 'evaluation' | 'wrongWhenTimed'>,
  ): void {
    const { device, seed } = evaluation;
    const attempt: Submitted = {
      schemaVersion: 1,
      id: `a${this.#attempts.length + 1}`,
      time: '',
      command: 'submit',
      parent: null,
      problem: this.problem.file.name,
      device: { id: device.id, name: device.name },
      seed,
      candidate: attemptCandidate(candidate),
      sources: {},
      results: [attemptResult(evaluation, this.workload)],
      authored: { ...authored, wrongWhenTimed: isWrongWhenTimed(evaluation), evaluation: '' },
    };
    this.#attempts.push(attempt);
    this.#evaluations.set(attempt, evaluation);
    this.#candidates.set(candidate.id, candidate);
  }

  #forget(handed: Handed): void {
    this.#pending.delete(handed.candidate.id);
    handed.settle();
  }

  #drop(handed: Handed, state: 'failed' | 'cancelled', reason: string, isFinal = false): void {
    Object.assign(handed, { state, reason, isFinal });
    handed.settle();
  }
}

const spent = (received: string): WarpsmithError =>
  new WarpsmithError({
    code: 'budget-spent',
    message: 'This session has no budget left.',
    received,
    expected: 'time and evaluations left',
    hint: 'Write what you learned to NOTES.md, and end. A later session goes on from there.',
  });
