import { makeCandidate } from '../core/candidate.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Candidate } from '../core/kernel.ts';
import { takesWorkload } from '../core/plan/takes-workload.ts';
import type { AblationEvent } from '../store/events.ts';
import { isTimed } from './decision.ts';
import { onRung } from './propose-moves.ts';
import { type Best, emit, evaluateOnce, isInterrupted, type Run, reference } from './run.ts';

/** Changes that are undone; the search's budget says nothing of them, so there are not many. */
const MOST_CHANGES = 8;

/** One change of the best undone; without a candidate where the kernel can't do without the change. */
interface Undoing {
  readonly undone: AblationEvent['undone'];
  readonly candidate: Candidate | undefined;
}

/**
 * Undoes the winner's changes one at a time and judges what is left, on the first workload: what each change gives on
 * top of the others. Done within the budgets of time and money, and beyond that of evaluations, as a confirmation is.
 */
export async function ablateBest(run: Run): Promise<void> {
  const { best, bests, options } = run;
  if (!best || bests.length < 2 || options.ablation === false) return;
  for (const undoing of undoings(bests, run).slice(0, MOST_CHANGES)) {
    if (isInterrupted(run)) return;
    const event = await judgeWithout(run, best, undoing);
    if (event) emit(run, event);
  }
}

/**
 * The rung before the best's own with its settings carried over; then each parameter as it was when the best's rung was
 * reached.
 */
function undoings(bests: readonly Best[], { options }: Run): Undoing[] {
  const { candidate: best } = bests.at(-1)!;
  const { dimensions } = options.workloads[0]!;
  const arrival = bests.findIndex(({ candidate }) => candidate.kernel.file.name === best.kernel.file.name);
  const before = bests[arrival - 1]?.candidate;
  const rung: Undoing[] = before
    ? [
        {
          undone: { kind: 'rung', from: best.kernel.file.name, to: before.kernel.file.name },
          candidate: onRung(best, before.kernel, dimensions),
        },
      ]
    : [];
  const arrived = bests[arrival]!.candidate.parameters;
  const parameters = Object.entries(best.parameters)
    .filter(([name, value]) => arrived[name] !== value)
    .map(([parameter, from]): Undoing => {
      const to = arrived[parameter]!;
      const candidate = makeCandidate(best.kernel, { ...best.parameters, [parameter]: to });
      return {
        undone: { kind: 'parameter', parameter, from, to },
        candidate: takesWorkload(candidate, dimensions) ? candidate : undefined,
      };
    });
  return [...rung, ...parameters];
}

/** Undefined when interrupted. */
async function judgeWithout(run: Run, best: Best, { undone, candidate }: Undoing): Promise<AblationEvent | undefined> {
  const event = (rest: Pick<AblationEvent, 'evaluationId' | 'ratio' | 'intervalRatio' | 'reason'>): AblationEvent => ({
    type: 'ablation',
    best: best.evaluation.id,
    undone,
    candidate: reference(candidate ?? best.candidate),
    ...rest,
  });
  if (!candidate) {
    return event({ evaluationId: null, ratio: null, reason: 'the other changes allow no kernel without this one' });
  }
  const known = knownOf(run, best, candidate);
  const logged = run.history.next();
  if (!known && logged?.type === 'ablation') {
    return event({ evaluationId: null, ratio: null, reason: logged.reason ?? 'not judged' });
  }
  const spent = known || logged ? undefined : run.budget.spent();
  if (spent && spent.reason !== 'evaluations-spent') {
    return event({ evaluationId: null, ratio: null, reason: `not judged: ${spent.detail}` });
  }
  const evaluation = known ?? (await evaluateOnce(run, { candidate, measuring: beside(best) }));
  return evaluation && event(comparison(best, evaluation));
}

const beside = (best: Best) => ({ tier: 'accept', against: [{ name: 'best', candidate: best.candidate }] }) as const;

/** A prediction does not change when it is made again; a measurement has to stand beside the best. */
const knownOf = ({ judgements, options }: Run, best: Best, candidate: Candidate): Evaluation | undefined =>
  best.evaluation.timing.kind === 'predicted'
    ? judgements.get(candidate.id)?.get(options.workloads[0]!.name)
    : undefined;

function comparison(
  best: Best,
  evaluation: Evaluation,
): Pick<AblationEvent, 'evaluationId' | 'ratio' | 'intervalRatio' | 'reason'> {
  const evaluationId = evaluation.id;
  if (!isTimed(evaluation)) {
    return { evaluationId, ratio: null, reason: `${evaluation.status}: ${evaluation.reason ?? 'it has no time'}` };
  }
  if (evaluation.timing.kind === 'predicted') {
    return { evaluationId, ratio: evaluation.timing.medianNs / best.evaluation.timing.medianNs };
  }
  const measured = evaluation.comparisons?.[0];
  if (!measured) return { evaluationId, ratio: null, reason: 'the best could not be measured beside it' };
  const [low, high] = measured.intervalRatio;
  return { evaluationId, ratio: 1 / measured.ratio, intervalRatio: [1 / high, 1 / low] };
}
