import { type Evaluation, isWrongWhenTimed } from '../../core/evaluation.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { Priors } from '../../store/events.ts';
import { isTimed } from '../decision.ts';
import type { ProposedMove } from '../propose-moves.ts';
import type { Run } from '../run.ts';
import { type Attempt, type Author, type Member, MOST_CAUGHT, type Told } from './author.ts';
import { skeletonOf } from './near-duplicate.ts';

/** Kernels of different structure that an author may be sent to. */
const MOST_ELITES = 4;

/** What the authors of a run share: what was tried, what passed, who wrote it, and who was caught. */
export class Lineage {
  readonly attempts: Attempt[] = [];
  /** The fastest setting of each structure. */
  readonly #members = new Map<string, Member>();
  /** Everything that passed, by its id. */
  readonly passed = new Map<string, Member>();
  /** Skeleton → the kernel that had it first. */
  readonly skeletons = new Map<string, string>();
  readonly names = new Set<string>();
  /** Kernel → who wrote it during the run. */
  readonly writers = new Map<string, string>();
  /** Name → kernels that were right when verified and wrong when timed, in earlier runs, too. */
  readonly #caught: Map<string, number>;
  readonly #authors: readonly Author[];

  constructor(authors: readonly Author[], { caught = [] }: Pick<Priors, 'caught'> = {}) {
    this.#authors = [...new Set(authors)];
    this.#caught = new Map(caught.map(({ author, count }) => [author, count]));
  }

  /** The start belongs to it from the first turn on. */
  rememberStart({ best, options }: Run): void {
    if (this.#members.size > 0) return;
    const { candidate, evaluation, ratioToStart } = best!;
    this.remember({ candidate, evaluation, ratioToStart });
    this.skeletons.set(skeletonOf(candidate), candidate.kernel.file.name);
    for (const { file } of [candidate.kernel, ...options.rungs]) this.names.add(file.name);
  }

  /** The fastest of each structure, fastest first. */
  elites(): Member[] {
    return [...this.#members.values()].sort((a, b) => b.ratioToStart - a.ratioToStart).slice(0, MOST_ELITES);
  }

  remember(member: Member): void {
    const { name } = member.candidate.kernel.file;
    this.passed.set(member.candidate.id, member);
    const known = this.#members.get(name);
    if (!known || member.ratioToStart > known.ratioToStart) this.#members.set(name, member);
  }

  /** Whoever writes sees what the others do. */
  tell({ budget: { evaluationsUsed } }: Run, what: Partial<Told> & Pick<Told, 'candidate'>): void {
    for (const author of this.#authors) author.told?.({ isSetting: false, ...what, evaluationsUsed });
  }

  /** What a move gave that no author made. @returns the author who wrote its kernel and is caught by it. */
  noteOther(run: Run, move: ProposedMove, parent: Member): string | undefined {
    const judged = [...run.judged.values()];
    const [evaluation] = judged;
    if (!evaluation || judged.some(({ status }) => status === 'device-failed')) return undefined;
    const { candidate, finding, reason, pattern } = move;
    const attempt = attemptOf(run, candidate, {
      parent,
      finding: finding.id,
      hypothesis: reason,
      predictedRatio: null,
    });
    this.#add(attempt);
    this.skeletons.set(skeletonOf(candidate), candidate.kernel.file.name);
    this.tell(run, { candidate, attempt, by: `warpsmith: ${pattern.id}` });
    const writer = this.writers.get(candidate.kernel.file.name);
    return writer !== undefined && judged.some(isWrongWhenTimed) && this.noteCaught(writer) ? writer : undefined;
  }

  #add(attempt: Attempt): void {
    this.attempts.push(attempt);
    const { candidate, evaluation, ratioToStart } = attempt.judged!;
    if (isTimed(evaluation) && ratioToStart !== null) this.remember({ candidate, evaluation, ratioToStart });
  }

  /** Whether the turn of an author is over for good. */
  isCaught(author: string): boolean {
    return (this.#caught.get(author) ?? 0) >= MOST_CAUGHT;
  }

  /** Notes that a kernel was right when verified and wrong when timed. @returns whether its author's turn is over. */
  noteCaught(author: string): boolean {
    this.#caught.set(author, (this.#caught.get(author) ?? 0) + 1);
    return this.isCaught(author);
  }
}

/** What came of a candidate, as the loop has just judged it. */
export function attemptOf(
  run: Run,
  candidate: Candidate,
  said: Omit<Attempt, 'parent' | 'judged' | 'refusal'> & { readonly parent: Member },
): Attempt {
  const { parent } = said;
  const evaluation = [...run.judged.values()][0]!;
  const ratioToParent = ratioBetween(parent, evaluation);
  return {
    ...said,
    parent: parent.candidate.id,
    judged: {
      candidate,
      evaluation,
      ratioToParent,
      ratioToStart: ratioToParent === null ? null : ratioToParent * parent.ratioToStart,
      isKept: run.best!.candidate.id === candidate.id,
    },
  };
}

/** Parent's time ÷ its time on the first workload; measured, only from the same blocks. */
function ratioBetween(parent: Member, evaluation: Evaluation): number | null {
  if (!isTimed(evaluation)) return null;
  if (evaluation.timing.kind === 'predicted') return parent.evaluation.timing.medianNs / evaluation.timing.medianNs;
  const { comparisons = [] } = evaluation;
  const own = comparisons.find(({ baseline }) => baseline === 'parent') ?? comparisons[0];
  return own?.ratio ?? null;
}
