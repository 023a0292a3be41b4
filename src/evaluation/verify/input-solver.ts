import { isEquality, type ObservedDecision, type UnequalOperands, type Ways } from '../../core/decisions.ts';
import type { Device, OperandLog } from '../../core/device.ts';
import type { LoadedModule } from '../../core/device-values.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import { valuesKey } from '../../core/values.ts';
import { type Check, DECLARED, describeCheck, onceAt } from '../oracle/check.ts';
import type { ExpectationCache } from '../oracle/expectation-cache.ts';
import { mutationOf, solutionOf } from '../oracle/mutated-inputs.ts';
import { choosableInputs } from '../oracle/secret/choosable-inputs.ts';
import { elementsOf } from '../oracle/shapes/cost.ts';
import { hasSeveralTiles } from '../oracle/shapes/drawing.ts';
import { solveEqualities } from '../oracle/solve-equalities.ts';
import { CheckRuns, type CheckRunsOptions } from './check-runs.ts';

/** Shapes at which a comparison's operands are looked at, how often what was solved is looked at again, and solved checks in all. */
const SOLVED = { shapes: 2, rounds: 3, most: 32 } as const;

export interface SolverRequest
  extends Pick<CheckRunsOptions, 'device' | 'module' | 'seed' | 'timeoutMs' | 'instructionsPerCta' | 'signal'> {
  readonly problem: Problem;
  readonly oracle: ExpectationCache;
  readonly planFor: (dimensions: Dimensions) => LaunchPlan;
}

/** Comparisons whose operands are to be the same, in a check with these inputs. */
interface Attempt {
  readonly places: readonly number[];
  readonly inputs: Pick<Check, 'dimensions' | 'generatorSet'>;
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
  readonly #findPlaces: () => readonly number[];
  readonly #met: { readonly dimensions: Dimensions; readonly ways: readonly Ways[] }[] = [];
  readonly #tried = new Set<string>();
  /** Of runs with the declared inputs, by shape. */
  readonly #unequal = new Map<string, readonly UnequalOperands[]>();
  #attempts: Attempt[] | undefined;
  #log: OperandLog | undefined;
  #solved = 0;

  /** @param places of the decisions that do not follow from the launch; asked when inputs are solved. */
  constructor(request: SolverRequest, places: () => readonly number[]) {
    this.#request = request;
    this.#findPlaces = places;
  }

  /** Takes in how decisions went in a check that passed. */
  learn({ dimensions }: Pick<Check, 'dimensions'>, ways: readonly Ways[]): void {
    this.#met.push({ dimensions, ways });
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
    if (this.#log) await this.#request.device.unload(this.#log.module);
  }

  /**
   * Comparisons of values with one another together, those with constants, all, and each by itself, those first that never found anything equal; at
   * the largest shapes where they were reached.
   */
  #firstAttempts(): Attempt[] {
    const { device, module, problem } = this.#request;
    const decisions = device.decisions?.(module).decisions ?? [];
    const places = this.#findPlaces().filter((place) => isEquality(decisions[place]!.comparison));
    this.#log = places.length > 0 ? openLog(device, module, places) : undefined;
    if (!this.#log) return [];
    const largest = this.#met.toSorted(
      (a, b) =>
        Number(hasSeveralTiles(problem.file, b.dimensions)) - Number(hasSeveralTiles(problem.file, a.dimensions)) ||
        elementsOf(problem.file, b.dimensions) - elementsOf(problem.file, a.dimensions),
    );
    const reached = (place: number): Dimensions[] =>
      unique(
        largest.filter(({ ways }) => ways[place]?.wasTrue || ways[place]?.wasFalse).map(({ dimensions }) => dimensions),
      ).slice(0, SOLVED.shapes);
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
      unique(group.flatMap(reached)).map((dimensions) => ({
        places: group,
        inputs: { dimensions, generatorSet: DECLARED },
        round: 1,
      })),
    );
    return [...new Map(attempts.map((one) => [`${one.places} ${valuesKey(one.inputs.dimensions)}`, one])).values()];
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

  /** As {@link #compare}. All first attempts at a shape start from the same inputs, which run once. */
  async #unequalIn(
    inputs: Attempt['inputs'],
    contents: ReadonlyMap<string, Uint8Array>,
  ): Promise<readonly UnequalOperands[]> {
    const { dimensions, generatorSet } = inputs;
    const shape = valuesKey(dimensions);
    const known = generatorSet === DECLARED ? this.#unequal.get(shape) : undefined;
    if (known) return known;
    const unequal = await this.#compare(dimensions, contents, describeCheck(inputs));
    if (generatorSet === DECLARED) this.#unequal.set(shape, unequal);
    return unequal;
  }

  /** What comparisons find unequal in a run with these inputs; nothing if it fails. */
  async #compare(
    dimensions: Dimensions,
    contents: ReadonlyMap<string, Uint8Array>,
    name: string,
  ): Promise<UnequalOperands[]> {
    try {
      const plan = this.#request.planFor(dimensions);
      const { module } = this.#log!;
      const runs = await CheckRuns.open({ ...this.#request, module, name, plan, contents, isMain: false });
      try {
        const result = await runs.natural();
        const unequal = this.#log!.take();
        return result.ok ? unequal : [];
      } finally {
        await runs.close();
      }
    } catch (error) {
      if (error instanceof WarpsmithError) return [];
      throw error;
    }
  }
}

/** `undefined` if no comparison asks for equality, or the device has no memory left for a copy of the module. */
function openLog(device: Device, module: LoadedModule, places: readonly number[]): OperandLog | undefined {
  try {
    return device.logOperands?.(module, places);
  } catch (error) {
    if (error instanceof WarpsmithError) return undefined;
    throw error;
  }
}

const unique = (shapes: readonly Dimensions[]): Dimensions[] => [
  ...new Map(shapes.map((shape) => [valuesKey(shape), shape])).values(),
];

/** Whether it found two values equal for some thread. */
const wasEqual = ({ comparison, wasTrue, wasFalse }: ObservedDecision): boolean =>
  comparison.startsWith('eq') ? wasTrue : wasFalse;
