import { type Mutated, mutatedName, mutatedSetOf } from '../mutated-inputs.ts';
import { areAsDrawn, isVariantKind, type VariantKind, variantName, variantOf } from './variants/index.ts';

/**
 * Generator sets that warpsmith adds to those of a problem: the declared inputs, made much larger, much smaller, each row of
 * them arranged in another way, or one of them mostly zeros. How, only the seed says. They find kernels that are right for
 * inputs of the usual size and order only: fixed maxima, clamps, tables, fixed point, one row's statistics used for another,
 * ties, peaks, terms that are skipped.
 */
export const SECRET_SETS = ['secret:large', 'secret:small', 'secret:rows', 'secret:zeros'] as const;
export type SecretKind = (typeof SECRET_SETS)[number];

/** Inputs of about the size of a number that a kernel's code compares values with. Only for kernels that do. */
export const CONSTANTS = 'secret:constants';

/** Whole numbers up to one that a kernel's code compares floating-point values with. Only for kernels that do. */
export const WHOLES = 'secret:wholes';

/** Rows that begin below the others by a little less than a number that a kernel's code adds to values. Only for kernels that do. */
export const STEPS = 'secret:steps';

/** Some values are exactly a number that a kernel's code asks for. Only for kernels that do. */
export const EXACT = 'secret:exactly';

/** Some whole numbers are exactly one that a kernel's code asks for, or make it up, as four bytes do. Only for kernels that ask. */
export const WORDS = 'secret:words';

/** Inputs of another set with changes at a few places. Only for kernels whose decisions follow from values. */
const MUTATED = 'secret:mutated';

/** Those that place values in secret ways, rather than scale them all alike. */
export const isPlacement = (kind: SecretSet['kind']): boolean =>
  kind === 'secret:rows' || kind === 'secret:zeros' || kind === MUTATED || isVariantKind(kind);

/** How often a secret set may be made milder, where the reference overflows or its tolerance would hide everything. */
export const LEVELS = 3;

export interface SecretSet {
  readonly kind:
    | (SecretKind | VariantKind)
    | (typeof CONSTANTS | typeof WHOLES | typeof STEPS | typeof EXACT | typeof WORDS)
    | typeof MUTATED;
  /** Of `secret:constants` and `secret:wholes`: the size that values should have. Of `secret:steps`: how far rows rise. */
  readonly about?: number | undefined;
  /** Of `secret:exactly` and `secret:words`: the numbers, and which of the ways to give them to inputs. */
  readonly among?: Among | undefined;
  /** Of sets that come in variants: which of them. */
  readonly index?: number | undefined;
  /** Of `secret:mutated`: whose inputs are changed, and how. */
  readonly mutated?: Mutated | undefined;
  /** 0 is the strongest. Each level halves the exponents of scales, and the offsets. */
  readonly level: number;
}

/** Numbers, and which of the ways to give them to inputs. */
export interface Among {
  readonly numbers: readonly number[];
  readonly turn: number;
}

/** `secret:rows, milder (1)`, `secret:constants about 600` → what they are; `undefined` of any other generator set. */
export function secretSetOf(generatorSet: string): SecretSet | undefined {
  const variant = variantOf(generatorSet);
  if (variant) return variant;
  const mutated = mutatedSetOf(generatorSet);
  if (mutated) return { kind: MUTATED, mutated, level: 0 };
  const [, exact, numbers, turn] = EXACT_NAME.exec(generatorSet) ?? [];
  if (numbers !== undefined)
    return {
      kind: exact === WORDS ? WORDS : EXACT,
      among: { numbers: numbers.split(',').map(Number), turn: Number(turn) },
      level: 0,
    };
  const [, kind, about, level = '0'] = SECRET_NAME.exec(generatorSet) ?? [];
  const known = [...SECRET_SETS, CONSTANTS, WHOLES, STEPS].find((name) => name === kind) as
    | SecretSet['kind']
    | undefined;
  return known && { kind: known, about: about === undefined ? undefined : Number(about), level: Number(level) };
}

const SECRET_NAME = /^(secret:\w+)(?: about (\S+?))?(?:, milder \((\d)\))?$/;

const EXACT_NAME = /^(secret:exactly|secret:words) (\S+) \((\d+)\)$/;

/** Whether values repeat, or rows differ in size. */
export function areValuesPlaced(generatorSet: string): boolean {
  const secret = secretSetOf(generatorSet);
  const variant = variantOf(generatorSet);
  return secret !== undefined && isPlacement(secret.kind) && !(variant && areAsDrawn(variant));
}

/** Names of a secret set and its milder variants, strongest first. */
export function levelsOf({ kind, about, among, index, mutated }: Omit<SecretSet, 'level'>): string[] {
  if (among) return [exactName(kind, among)];
  if (mutated) return [mutatedName(mutated)];
  const plain = isVariantKind(kind) ? variantName({ kind, index: index ?? 0 }) : kind;
  const name = about === undefined ? plain : `${plain} about ${about}`;
  // Smaller whole numbers, and lower steps, are another set's.
  if (kind === WHOLES || kind === STEPS) return [name];
  return Array.from({ length: LEVELS }, (_, level) => (level === 0 ? name : `${name}, milder (${level})`));
}

/** The strongest of them. */
export const nameOf = (set: Omit<SecretSet, 'level'>): string => levelsOf(set)[0]!;

const exactName = (kind: string, { numbers, turn }: Among): string => `${kind} ${numbers.join()} (${turn})`;
