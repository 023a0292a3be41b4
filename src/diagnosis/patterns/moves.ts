import { type AllowedValues, listValues } from '../../core/plan/parameter-values.ts';
import type { PatternContext, PatternMove } from '../pattern.ts';
import { meetsConstraints, mendingChanges } from './mend-setting.ts';

export type Direction = 'more' | 'fewer';

/** Share of the finding's estimated gain that one step of a parameter is expected to bring. */
const PARAMETER_GAIN_SHARE = 0.5;
/** The same, where the step is of any parameter, not of one that answers the finding. */
const NEIGHBOUR_GAIN_SHARE = 0.2;
/** Confidence lost for each step a value lies farther from the current one. */
const CONFIDENCE_PER_STEP = 0.8;
/** Confidence lost for each rung that is skipped. */
const CONFIDENCE_PER_RUNG = 0.9;

/** Values of one parameter in one direction that are proposed each by itself. */
const MOST_NEIGHBOURS = 8;

/**
 * Values of a parameter beyond the current one in a direction, the nearest first. Of a long row the next, then those two,
 * four, eight … steps away, and the last: a range is looked over, not tried value by value.
 */
function valuesBeyond(values: AllowedValues, current: number, direction: Direction): number[] {
  const beyond = listValues(values).filter((value) => (direction === 'more' ? value > current : value < current));
  beyond.sort((a, b) => Math.abs(a - current) - Math.abs(b - current));
  if (beyond.length <= MOST_NEIGHBOURS) return beyond;
  return beyond.filter((_, place) => Number.isInteger(Math.log2(place + 1)) || place === beyond.length - 1);
}

/** Part of a gain: 1 + share × (gain − 1). */
const partOfGain = (gain: number, share: number): number => 1 + share * Math.max(0, gain - 1);

/** Returns the moves for a finding. */
export type Proposal = (context: PatternContext) => PatternMove[];

/** Moves to every later rung that says it remedies the finding, the next one first. */
export const rungs =
  (confidence: number, reason: string): Proposal =>
  ({ laterRungs, finding }) =>
    laterRungs
      .filter(({ file }) => file.remedies?.includes(finding.id))
      .map(({ file }, step) => ({
        kind: 'rung',
        rung: file.name,
        expectedGain: finding.estimatedSpeedup,
        confidence: confidence * CONFIDENCE_PER_RUNG ** step,
        reason: `${reason}; ${file.name} names ${finding.id} among its remedies`,
      }));

/** Moves of every parameter with a role, one per allowed value in the direction, the nearest value first. */
const towards =
  (direction: Direction) =>
  (role: ParameterRole, confidence: number, reason: string): Proposal =>
  ({ candidate, finding }) =>
    Object.entries(candidate.kernel.file.parameters ?? {}).flatMap(([parameter, declaration]) => {
      const from = candidate.parameters[parameter];
      if (from === undefined || roleOf(parameter) !== role) return [];
      return valuesBeyond(declaration.values, from, direction).map(
        (value, step): PatternMove => ({
          kind: 'parameter',
          parameter,
          from,
          value,
          expectedGain: partOfGain(finding.estimatedSpeedup, PARAMETER_GAIN_SHARE),
          confidence: confidence * CONFIDENCE_PER_STEP ** step,
          reason,
        }),
      );
    });

/** Larger values of the parameters with a role. `confidence` is that of the nearest value, 0 to 1. */
export const more = towards('more');
/** As {@link more}, with smaller values. */
export const fewer = towards('fewer');

/** One step of every parameter, either way. */
export const neighbours =
  (confidence: number, reason: (parameter: string) => string): Proposal =>
  ({ candidate, finding }) =>
    Object.entries(candidate.kernel.file.parameters ?? {}).flatMap(([parameter, { values }]) => {
      const from = candidate.parameters[parameter];
      if (from === undefined) return [];
      return (['more', 'fewer'] as const)
        .flatMap((direction) => valuesBeyond(values, from, direction).slice(0, 1))
        .map(
          (value): PatternMove => ({
            kind: 'parameter',
            parameter,
            from,
            value,
            expectedGain: partOfGain(finding.estimatedSpeedup, NEIGHBOUR_GAIN_SHARE),
            confidence,
            reason: reason(parameter),
          }),
        );
    });

/** The same moves, each with one other parameter changed along where a constraint lets the one not change alone. */
export const mended =
  (proposal: Proposal): Proposal =>
  (context) =>
    proposal(context).map((move): PatternMove => {
      if (move.kind !== 'parameter') return move;
      const { kind, parameter, from, value, ...expectation } = move;
      const change = { parameter, from, value };
      if (meetsConstraints(context, { ...context.candidate.parameters, [parameter]: value })) return move;
      const [along] = mendingChanges(context, change);
      return along ? { kind: 'parameters', changes: [change, along], ...expectation } : move;
    });

/** The moves of all proposals in their order, or the advice alone when there are none. */
export const movesOr =
  (advice: string, ...proposals: readonly Proposal[]): Proposal =>
  (context) =>
    orAdvice(
      proposals.flatMap((proposal) => proposal(context)),
      advice,
    );

/** The moves, or the advice alone when there are none. */
export const orAdvice = (moves: PatternMove[], text: string): PatternMove[] =>
  moves.length > 0 ? moves : [{ kind: 'advice', text }];

/** What a kernel's parameter is for. Patterns know roles; kernel.json says them through the parameter's name. */
export type ParameterRole =
  | 'row-tile'
  | 'column-tile'
  | 'warps'
  | 'rows-per-warp'
  | 'items-per-thread'
  | 'ctas-per-sm'
  | 'vector-width'
  | 'stages'
  | 'consumers'
  | 'padding'
  | 'unroll'
  | 'split'
  | 'cta-group';

/** The naming convention: a parameter whose name matches plays the role. */
const ROLE_NAMES: readonly (readonly [ParameterRole, RegExp])[] = [
  ['row-tile', /^(BLOCK|TILE)_M$|^ROWS_PER_CTA$/],
  ['column-tile', /^(BLOCK|TILE)_[NK]$/],
  ['warps', /^(NUM_)?WARPS(_PER_CTA)?$/],
  ['rows-per-warp', /^ROWS_PER_(WARP|THREAD)$|^THREAD_[MN]$/],
  ['items-per-thread', /^ITEMS(_PER_THREAD)?$/],
  ['ctas-per-sm', /^CTAS_PER_SM$/],
  ['vector-width', /^VECTOR_WIDTH$|^VEC(_WIDTH)?$/],
  ['stages', /^(NUM_)?STAGES$/],
  ['consumers', /^(NUM_)?CONSUMERS$/],
  ['padding', /^(SMEM_)?PAD(DING)?$/],
  ['unroll', /^UNROLL(_\w+)?$/],
  ['split', /^(NUM_)?(KV_)?SPLITS?(_[KN])?$/],
  ['cta-group', /^(CTA_)?(GROUP|SWIZZLE)(_[MN]|_SIZE|_WIDTH)?$/],
];

/** The role of a parameter, or undefined when its name follows no convention. */
export const roleOf = (parameter: string): ParameterRole | undefined =>
  ROLE_NAMES.find(([, name]) => name.test(parameter))?.[0];
