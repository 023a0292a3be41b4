import { makeCandidate } from '../core/candidate.ts';
import type { DeviceSpec } from '../core/device-spec.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Finding } from '../core/finding.ts';
import type { Candidate, Kernel, ParameterValues } from '../core/kernel.ts';
import { failedLimit } from '../core/plan/limits.ts';
import { allowsValue } from '../core/plan/parameter-values.ts';
import { closestAssignment, failedConstraint } from '../core/plan/parameters.ts';
import type { Dimensions } from '../core/problem.ts';
import { figure } from '../core/values.ts';
import type { Expectation, Pattern, PatternMove } from '../diagnosis/pattern.ts';
import type { MoveRecord } from '../store/events.ts';

/** A change to the best candidate that one of its findings suggests. */
export interface ProposedMove extends Expectation {
  /** Key under which failures are counted: pattern × parameter, or pattern × rung. */
  key: string;
  pattern: { id: string; title: string };
  /** `evaluationId`: where it is not a finding of the best. */
  finding: { id: string; estimatedSpeedup: number; evidence: string; evaluationId?: string };
  change: MoveRecord;
  candidate: Candidate;
  /** Written during the run: judged with a seed that nobody knew before. `isSetting`: one of its settings, with less inputs. */
  written?: { readonly isSetting: boolean; readonly parent: Candidate };
}

/** A pattern's recommendation that no listed move can carry out. */
export interface Advice {
  pattern: { id: string; title: string };
  finding: { id: string; evaluationId: string };
  text: string;
}

export interface ProposalContext {
  dimensions: Dimensions;
  /** Every rung of the problem, in ladder order. */
  rungs: readonly Kernel[];
  patterns: readonly Pattern[];
  spec: DeviceSpec;
  best: { candidate: Candidate; evaluation: Evaluation };
}

/** Evidence in one line: counter, value, threshold. */
export const evidenceText = (finding: Finding): string =>
  finding.evidence
    .map(
      ({ counter, value, unit, comparison, threshold }) =>
        `${counter} ${figure(value)}${unit ? ` ${unit}` : ''}, ${comparison} ${figure(threshold)}`,
    )
    .join('; ');

const valid = (kernel: Kernel, parameters: ParameterValues, dimensions: Dimensions): boolean =>
  failedConstraint(kernel.file, parameters, dimensions) === undefined;

/** The best candidate with some parameters changed; undefined if kernel.json does not allow it. */
function withParameters(best: Candidate, changes: ParameterValues, dimensions: Dimensions): Candidate | undefined {
  const { kernel, parameters } = best;
  for (const [parameter, value] of Object.entries(changes)) {
    const current = parameters[parameter];
    if (current === undefined || current === value) return undefined;
    const declaration = kernel.file.parameters?.[parameter];
    if (!declaration || !allowsValue(declaration.values, value)) return undefined;
  }
  const changed = { ...parameters, ...changes };
  return valid(kernel, changed, dimensions) ? makeCandidate(kernel, changed) : undefined;
}

/**
 * Parameters on a new rung: the best's values for parameters of the same name if the rung allows them, otherwise defaults.
 * If that breaks a constraint, the rung's defaults. If those break one, too, the valid assignment that keeps most of the
 * best's values.
 */
function parametersOnRung(rung: Kernel, current: ParameterValues, dimensions: Dimensions): ParameterValues | undefined {
  const declared = Object.entries(rung.file.parameters ?? {});
  const defaults = Object.fromEntries(declared.map(([name, declaration]) => [name, declaration.default]));
  const carried = Object.fromEntries(
    declared.map(([name, { values, default: fallback }]) => {
      const value = current[name];
      return [name, value !== undefined && allowsValue(values, value) ? value : fallback];
    }),
  );
  if (valid(rung, carried, dimensions)) return carried;
  if (valid(rung, defaults, dimensions)) return defaults;
  return closestAssignment(rung.file, carried, dimensions);
}

/** The best candidate on another rung; undefined if the rung does not take the workload. */
export function onRung(best: Candidate, rung: Kernel, dimensions: Dimensions): Candidate | undefined {
  if (failedLimit(rung.file, dimensions) !== undefined) return undefined;
  const parameters = parametersOnRung(rung, best.parameters, dimensions);
  return parameters && makeCandidate(rung, parameters);
}

/**
 * Rungs after the best candidate's own. Empty if its kernel is not on the ladder, because then no rung is known to come
 * later.
 */
export function laterRungs(rungs: readonly Kernel[], best: Candidate): readonly Kernel[] {
  const own = rungs.findIndex((rung) => rung.file.name === best.kernel.file.name);
  return own < 0 ? [] : rungs.slice(own + 1);
}

/** A change that can be made. */
export type RealisedMove = Pick<ProposedMove, 'key' | 'change' | 'candidate'>;

function realise(
  move: PatternMove,
  pattern: Pattern,
  finding: Finding,
  context: ProposalContext,
): RealisedMove | undefined {
  const { best, dimensions } = context;
  const kernel = best.candidate.kernel.file.name;
  if (move.kind === 'parameter') {
    const candidate = withParameters(best.candidate, { [move.parameter]: move.value }, dimensions);
    if (!candidate) return undefined;
    const from = best.candidate.parameters[move.parameter]!;
    return {
      key: `${pattern.id}/${kernel}.${move.parameter}`,
      change: { kind: 'parameter', kernel, parameter: move.parameter, from, to: move.value },
      candidate,
    };
  }
  if (move.kind === 'parameters') {
    const values = Object.fromEntries(move.changes.map(({ parameter, value }) => [parameter, value]));
    const candidate = withParameters(best.candidate, values, dimensions);
    if (!candidate) return undefined;
    const changes = move.changes.map(({ parameter, value: to }) => {
      return { parameter, from: best.candidate.parameters[parameter]!, to };
    });
    const names = changes.map(({ parameter }) => parameter).join('+');
    return { key: `${pattern.id}/${kernel}.${names}`, change: { kind: 'parameters', kernel, changes }, candidate };
  }
  if (move.kind === 'rung') {
    // Applies to every pattern: a proposed rung must come later and must name the finding in its remedies.
    const rung = laterRungs(context.rungs, best.candidate).find(({ file }) => file.name === move.rung);
    if (!rung?.file.remedies?.includes(finding.id)) return undefined;
    const candidate = onRung(best.candidate, rung, dimensions);
    return (
      candidate && {
        key: `${pattern.id}/${rung.file.name}`,
        change: { kind: 'rung', from: kernel, to: rung.file.name },
        candidate,
      }
    );
  }
  return undefined;
}

/**
 * All moves that patterns propose for the findings of the best candidate, by descending expected gain × confidence, then in
 * the order of findings and patterns. Omits moves that break a constraint or a limit.
 */
export function proposeMoves(context: ProposalContext): { moves: ProposedMove[]; advice: Advice[] } {
  const { best, patterns } = context;
  const moves: ProposedMove[] = [];
  const advice: Advice[] = [];
  for (const finding of best.evaluation.findings) {
    for (const pattern of patterns.filter(({ triggers }) => (triggers as readonly string[]).includes(finding.id))) {
      const named = { id: pattern.id, title: pattern.title };
      const proposals = pattern.propose({
        finding,
        evaluation: best.evaluation,
        candidate: best.candidate,
        laterRungs: laterRungs(context.rungs, best.candidate),
        dimensions: context.dimensions,
        spec: context.spec,
      });
      for (const proposal of proposals) {
        if (proposal.kind === 'advice') {
          advice.push({
            pattern: named,
            finding: { id: finding.id, evaluationId: best.evaluation.id },
            text: proposal.text,
          });
          continue;
        }
        const realised = realise(proposal, pattern, finding, context);
        if (!realised) continue;
        moves.push({
          ...realised,
          pattern: named,
          finding: { id: finding.id, estimatedSpeedup: finding.estimatedSpeedup, evidence: evidenceText(finding) },
          expectedGain: proposal.expectedGain,
          confidence: proposal.confidence,
          reason: proposal.reason,
        });
      }
    }
  }
  const promise = ({ expectedGain, confidence }: ProposedMove) => expectedGain * confidence;
  return { moves: moves.sort((a, b) => promise(b) - promise(a)), advice };
}
