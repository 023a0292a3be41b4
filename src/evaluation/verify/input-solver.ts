import { isEquality, type LoggedOperands, type ObservedDecision } from '../../core/decisions.ts';
import type { Dimensions, Problem, ProblemFile } from '../../core/problem.ts';
import { distinctValues, valuesKey } from '../../core/values.ts';
import { type Check, DECLARED, describeCheck, onceAt } from '../oracle/check.ts';
import type { ExpectationCache } from '../oracle/expectation-cache.ts';
import { mutationOf, solutionOf } from '../oracle/mutated-inputs.ts';
import { choosableInputs } from '../oracle/secret/choosable-inputs.ts';
import { elementsOf } from '../oracle/shapes/cost.ts';
import { hasSeveralTiles } from '../oracle/shapes/drawing.ts';
import { solveEqualities } from '../oracle/solve-equalities.ts';
import { isReached, type Met, type MetInputs } from './met-inputs.ts';
import { OperandWatch, type WatchRequest } from './operand-watch.ts';

/** Shapes at which a comparison's operands are looked at, how often what was solved is looked at again, and solved checks in all. */
const SOLVED = { shapes: 2, rounds: 3, most: 32 } as const;

export interface SolverRequest extends WatchRequest {
  readonly problem: Problem;
  readonly oracle: ExpectationCache;
}

/** Comparisons whose operands are to be the same, in a check with these inputs. */
interface Attempt {
  readonly places: readonly number[];
  readonly inputs: Met['inputs'];
  readonly round: number;
}

/**
 * Works out inputs with which the candidate's comparisons find equal what they found unequal. A shortcut for inputs of some kind ("these quarters
 * are alike", "the diagonal is all ones") asks for it at some places. So its comparisons are watched, and the elements that they compared get each other's
 * values. Whether results are right then, a check says as for any other inputs; and where they are, changes elsewhere are
 * {@link InputGuide bred}.
 */
export class InputSolver {
  readonly #request: SolverRequest;
  readonly #met: MetInputs;
  readonly #tried = new Set<string>();
  /** Of runs with the declared inputs, by shape. */
  readonly #unequal = new Map<string, readonly LoggedOperands[]>();
  #attempts: Attempt[] | undefined;
  #watch: OperandWatch | undefined;
  #solved = 0;

  constructor(request: SolverRequest, met: MetInputs) {
    this.#request = request;
    this.#met = met;
  }

  /** A check with inputs that were worked out; `undefined` if there is none any more. */
  async next(): Promise<Check | undefined> {
    this.#attempts ??= this.#firstAttempts();
    while (this.#solved < SOLVED.most) {
      const attempt = this.#attempts.shift();
      if (!attempt) return undefined;
      const generatorSet = await this.#solve(attempt);
      if (generatorSet === undefined || this.#tried.has(generatorSet)) continue;
      this.#tried.add(generatorSet);
      this.#solved += 1;
      const check = onceAt(attempt.inputs.dimensions, generatorSet);
      if (attempt.round < SOLVED.rounds)
        this.#attempts.unshift({ ...attempt, inputs: check, round: attempt.round + 1 });
      return check;
    }
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch?.[Symbol.asyncDispose]();
  }

  /**
   * Comparisons of values with one another together, those with constants, all, and each by itself, those first that never found anything equal; at
   * the largest shapes where they were reached.
   */
  #firstAttempts(): Attempt[] {
    const { device, module, problem } = this.#request;
    const decisions = device.decisions?.(module).decisions ?? [];
    const places = this.#met.places.filter((place) => isEquality(decisions[place]?.comparison ?? ''));
    this.#watch = OperandWatch.open(this.#request, places, 'unequal');
    if (!this.#watch) return [];
    const largest = this.#met.all.toSorted(
      ({ inputs: a }, { inputs: b }) =>
        Number(hasSeveralTiles(problem.file, b.dimensions)) - Number(hasSeveralTiles(problem.file, a.dimensions)) ||
        elementsOf(problem.file, b.dimensions) - elementsOf(problem.file, a.dimensions),
    );
    const reached = (place: number): Dimensions[] =>
      distinctValues(largest.filter((met) => isReached(met, place)).map(({ inputs }) => inputs.dimensions)).slice(
        0,
        SOLVED.shapes,
      );
    const isOfConstant = (place: number): boolean => decisions[place]!.constant !== undefined;
    const groups = [
      places.filter((place) => !isOfConstant(place)),
      places.filter(isOfConstant),
      places,
      ...places
        .toSorted((a, b) => Number(wasEqual(decisions[a]!)) - Number(wasEqual(decisions[b]!)))
        .map((place) => [place]),
    ];
    const attempts = groups.flatMap((group) =>
      distinctValues(group.flatMap(reached)).flatMap((dimensions) =>
        [DECLARED, ...ofBothSigns(problem.file)].map((generatorSet) => ({
          places: group,
          inputs: { dimensions, generatorSet },
          round: 1,
        })),
      ),
    );
    const keyOf = ({ places, inputs: { dimensions, generatorSet } }: Attempt): string =>
      `${places} ${valuesKey(dimensions)} ${generatorSet}`;
    return [...new Map(attempts.map((one) => [keyOf(one), one])).values()];
  }

  /** The generator set in which values are as the comparisons want them; `undefined` if none of those was found among the inputs. */
  async #solve({ places, inputs: { dimensions, generatorSet } }: Attempt): Promise<string | undefined> {
    const { device, module, problem, seed, oracle } = this.#request;
    const { tensors, bytes } = oracle.check({ problem, seed, dimensions, generatorSet }).inputs;
    const unequal = await this.#unequalIn({ dimensions, generatorSet }, bytes);
    const decisions = device.decisions?.(module).decisions ?? [];
    const comparisons = unequal
      .filter(({ place, pairs }) => places.includes(place) && pairs.length > 0)
      .map((one) => ({ ...one, constant: decisions[one.place]?.constant }));
    if (comparisons.length === 0) return undefined;
    const values = solveEqualities(comparisons, choosableInputs(problem.file, tensors));
    return values.length === 0 ? undefined : mutationOf(generatorSet, solutionOf(values));
  }

  /** All first attempts at a shape start from the same inputs, which run once. */
  async #unequalIn(
    inputs: Attempt['inputs'],
    contents: ReadonlyMap<string, Uint8Array>,
  ): Promise<readonly LoggedOperands[]> {
    const { dimensions, generatorSet } = inputs;
    const shape = valuesKey(dimensions);
    const known = generatorSet === DECLARED ? this.#unequal.get(shape) : undefined;
    if (known) return known;
    const unequal = await this.#watch!.run({ dimensions, contents, name: describeCheck(inputs) });
    if (generatorSet === DECLARED) this.#unequal.set(shape, unequal);
    return unequal;
  }
}

/**
 * A generator set of values of both signs where the declared inputs have one sign: what a shortcut leaves out of a sum of these is often below its tolerance, because what it takes
 * instead is about as large.
 */
function ofBothSigns({ inputs, generatorSets = {} }: ProblemFile): string[] {
  const isPositive = Object.values(inputs).some(({ generator }) => generator?.kind === 'positive');
  const signed = Object.entries(generatorSets).find(([, set]) =>
    Object.values(set).some(({ kind }) => kind === 'normal'),
  );
  return isPositive && signed ? [signed[0]] : [];
}

/** Whether it found two values equal for some thread. */
const wasEqual = ({ comparison, wasTrue, wasFalse }: ObservedDecision): boolean =>
  comparison.startsWith('eq') ? wasTrue : wasFalse;
