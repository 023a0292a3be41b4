import { WarpsmithError } from '../../core/errors.ts';
import { isTooManyAssignments } from '../../core/plan/parameters.ts';
import type { ArmPrior, ArmPull, Spending, StopReason } from '../../store/events.ts';
import type { ArmChoice } from '../../store/transcript.ts';
import type { Author, Member, SharedRun } from '../authoring/author.ts';
import { bestOf, type Left, reasonFor, standingsOf } from '../authoring/bandit.ts';
import { Lineage } from '../authoring/lineage.ts';
import type { ProposedMove } from '../propose-moves.ts';
import { emit, type OptimizeOptions, type Run } from '../run.ts';
import { createByAuthor } from './by-author.ts';
import { type Judged, madeWhenAsked, type Proposer, type Turn } from './proposer.ts';

/** A proposer without an author: its turns are single moves. */
export interface Chooser {
  readonly name: 'patterns' | 'search';
  /** Made when it is first asked. @throws WarpsmithError where there are too many settings to list. */
  readonly create: () => Proposer<Run>;
  /** Has other moves as soon as there is a new best. */
  readonly followsBest: boolean;
}

interface Arm {
  readonly name: string;
  readonly proposer: ReturnType<typeof madeWhenAsked<Run>>;
  readonly author?: Author;
  readonly followsBest: boolean;
  closed?: { readonly reason: StopReason; readonly detail: string; readonly atBest: string };
}

/** Who is asked now, and how the run stood when its turn began. */
interface Current {
  readonly arm: Arm;
  readonly logRatio: number;
  readonly before: Spending;
}

/** Ends that a larger budget lifts. */
const LIFTED: readonly StopReason[] = ['tokens-spent', 'cost-spent'];

/**
 * Shares a run's moves out among patterns, a blind search and authors: whoever gains most for what it takes of what is left. An arm keeps its
 * turn until nothing of it is on its way.
 */
export class ByBandit implements Proposer<Run> {
  readonly #shared: SharedRun;
  readonly #arms: readonly Arm[];
  readonly #lineage: Lineage;
  readonly #pulls: ArmPull[] = [];
  readonly #priors: readonly ArmPrior[];
  #choices = 0;
  #current: Current | undefined;
  #isLifted = false;
  /** What an arm without an author proposed, until it is noted for those who write. */
  #other: { readonly move: ProposedMove; readonly parent: Member } | undefined;

  constructor({ priors }: Pick<OptimizeOptions, 'priors'>, shared: SharedRun, choosers: readonly Chooser[]) {
    this.#shared = shared;
    const authors = shared.writers.map(({ author }) => author);
    const lineage = new Lineage(authors, priors);
    this.#lineage = lineage;
    this.#arms = [
      ...choosers.map(({ create, ...chooser }) => ({ ...chooser, proposer: madeWhenAsked(create) })),
      ...shared.writers.map(({ author, name }) => ({
        name,
        author,
        followsBest: false,
        proposer: madeWhenAsked(() => createByAuthor({ author, by: name, lineage })),
      })),
    ];
    const names = new Set(this.#arms.map(({ name }) => name));
    this.#priors = (priors?.arms ?? []).filter(({ arm }) => names.has(arm));
  }

  async next(run: Run): Promise<Turn> {
    this.#lineage.rememberStart(run);
    if (await this.#noteOther(run)) return {};
    if (this.#current?.arm.author === undefined) this.#endTurn(run);
    this.#current ??= this.#choose(run);
    if (!this.#current) return this.#exhausted();
    const { arm } = this.#current;
    const logged = run.history.next();
    // With a larger budget it would be asked now, where it was not.
    const turn =
      logged?.type === 'arm-closed' && logged.arm === arm.name && LIFTED.includes(logged.reason)
        ? { exhausted: logged }
        : await this.#ask(arm, run);
    const { exhausted, isTurnOver, ...rest } = turn;
    if (exhausted) await this.#close(run, arm, exhausted);
    if (isTurnOver) this.#endTurn(run);
    return arm.author || !rest.move ? rest : { ...rest, move: this.#asOther(rest.move, run) };
  }

  note(move: ProposedMove, judged: Judged): void {
    for (const { proposer } of this.#arms) proposer.note(move, judged);
  }

  async rest(run: Run): Promise<void> {
    for (const { proposer } of this.#arms) await proposer.rest?.(run);
  }

  async #ask(arm: Arm, run: Run): Promise<Turn> {
    try {
      return await arm.proposer.next(run);
    } catch (error) {
      // A space that is too large to list is left to those who need no list.
      if (!arm.author && isTooManyAssignments(error)) {
        return { exhausted: { reason: 'no-moves-left', detail: 'it has too many settings to list' } };
      }
      throw error;
    }
  }

  /** Settings of a kernel that an author wrote are judged like those that it is asked for. */
  #asOther(move: ProposedMove, { best }: Run): ProposedMove {
    const { candidate, evaluation, ratioToStart } = best!;
    const isWritten = this.#lineage.writers.has(move.candidate.kernel.file.name);
    const marked: ProposedMove = isWritten ? { ...move, written: { isSetting: true, parent: candidate } } : move;
    this.#other = { move: marked, parent: { candidate, evaluation, ratioToStart } };
    return marked;
  }

  /** @returns whether an author was caught by it. */
  async #noteOther(run: Run): Promise<boolean> {
    const other = this.#other;
    this.#other = undefined;
    const caught = other && this.#lineage.noteOther(run, other.move, other.parent);
    const arm = this.#arms.find(({ name }) => name === caught);
    if (!arm) return false;
    this.#endTurn(run);
    await this.#close(run, arm, {
      reason: 'author-caught',
      detail: `a setting of its kernel ${other!.move.candidate.kernel.file.name} was wrong when timed`,
    });
    return true;
  }

  #choose(run: Run): Current | undefined {
    const best = run.best!.candidate.id;
    if (run.isExtended && !this.#isLifted) {
      this.#isLifted = true;
      for (const arm of this.#arms) if (arm.closed && LIFTED.includes(arm.closed.reason)) arm.closed = undefined;
    }
    for (const arm of this.#arms) if (arm.followsBest && arm.closed?.atBest !== best) arm.closed = undefined;
    const choice = this.#nextChoice(run);
    if (!choice) return undefined;
    const arm = this.#arms.find(({ name }) => name === choice.arm);
    if (!arm) throw otherArms(choice.arm, this.#arms);
    arm.closed = undefined;
    emit(run, { type: 'arm-chosen', iteration: run.iteration + 1, ...choice });
    return { arm, logRatio: Math.log(run.best!.ratioToStart), before: usedBy(run, arm) };
  }

  /** What was chosen then, or is chosen now. */
  #nextChoice(run: Run): ArmChoice | undefined {
    const known = this.#shared.recorded[this.#choices];
    this.#choices += 1;
    if (known) {
      // Its figures rest on times, which may differ a little when a run is repeated.
      if (known.last && this.#pulls.length > 0) this.#pulls[this.#pulls.length - 1] = known.last;
      return known;
    }
    const open = this.#arms.filter(({ closed }) => !closed).map(({ name }) => name);
    const arms = standingsOf(open, this.#pulls, this.#left(run), this.#priors);
    const chosen = bestOf(arms);
    if (!chosen) return undefined;
    const choice = { arm: chosen.arm, reason: reasonFor(chosen), arms, last: this.#pulls.at(-1) ?? null };
    this.#shared.record(choice);
    return choice;
  }

  #endTurn(run: Run): void {
    const current = this.#current;
    this.#current = undefined;
    if (!current) return;
    const now = usedBy(run, current.arm);
    const used = Object.fromEntries(
      Object.entries(now).map(([name, value]) => [name, value - current.before[name as keyof Spending]]),
    ) as Spending;
    const gain = Math.max(0, Math.log(run.best!.ratioToStart) - current.logRatio);
    this.#pulls.push({ arm: current.arm.name, gain, used });
  }

  /** One that never had a move took no turn. */
  async #close(run: Run, arm: Arm, { reason, detail }: NonNullable<Turn['exhausted']>): Promise<void> {
    const current = this.#current;
    if (current?.arm === arm) {
      const { evaluations, tokens } = usedBy(run, arm);
      if (evaluations > current.before.evaluations || tokens > current.before.tokens) this.#endTurn(run);
      this.#current = undefined;
    }
    arm.closed = { reason, detail, atBest: run.best!.candidate.id };
    emit(run, {
      type: 'arm-closed',
      iteration: run.iteration + 1,
      arm: arm.name,
      reason,
      detail,
      isForNow: arm.followsBest,
    });
    await arm.proposer.rest?.(run);
  }

  /** Why an author ended tells more than that settings are used up. */
  #exhausted(): Turn {
    const closed = this.#arms.flatMap(({ name, closed: one, author }) =>
      one ? [{ name, isAuthor: !!author, ...one }] : [],
    );
    const reason = (closed.findLast(({ isAuthor }) => isAuthor) ?? closed.at(-1))?.reason ?? 'no-moves-left';
    return { exhausted: { reason, detail: closed.map(({ name, detail }) => `${name}: ${detail}`).join('; ') } };
  }

  #left({ budget }: Run): Left {
    const { maximumMinutes, maximumGpuMinutes, maximumMoney } = budget.limits;
    const { gpuMs, money } = budget.ledger;
    const funds = this.#arms.map(({ author }) => author?.funds?.()).find((one) => one !== undefined);
    const rest = (limit: number | null, used: number): number | null => (limit === null ? null : limit - used);
    return {
      evaluations: budget.searchEvaluationsLeft,
      seconds: rest(inSeconds(maximumMinutes), budget.minutesUsed() * SECONDS),
      gpuSeconds: rest(inSeconds(maximumGpuMinutes), gpuMs / MS),
      money: rest(maximumMoney, money ?? 0),
      tokens: funds?.tokensLeft ?? null,
      tokenMoney: funds?.moneyLeft ?? null,
    };
  }
}

const SECONDS = 60;
const MS = 1000;
const inSeconds = (minutes: number | null): number | null => (minutes === null ? null : minutes * SECONDS);

/** What the run used so far; of what only authors use, what this one did. */
function usedBy({ budget }: Run, { author }: Arm): Spending {
  const funds = author?.funds?.();
  const { gpuMs, money } = budget.ledger;
  return {
    evaluations: budget.evaluationsUsed,
    seconds: budget.minutesUsed() * SECONDS,
    gpuSeconds: gpuMs / MS,
    money: money ?? 0,
    tokens: funds?.tokensUsed ?? 0,
    tokenMoney: funds?.moneyUsed ?? 0,
  };
}

const otherArms = (received: string, arms: readonly Arm[]): WarpsmithError =>
  new WarpsmithError({
    code: 'other-authors',
    message: 'The transcript is of a run with other authors.',
    path: '--author',
    received,
    expected: arms.map(({ name }) => name).join(', '),
    hint: 'Give the options of that run.',
  });
