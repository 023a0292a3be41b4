import type { LoggedOperands, ObservedDecision } from '../../core/decisions.ts';
import { rememberedAt } from '../../core/once-for.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import { generatorSetsOf } from '../../core/plan/generator-sets.ts';
import { valuesKey } from '../../core/values.ts';
import { type Check, DECLARED, describeCheck, onceAt } from '../oracle/check.ts';
import { type DrawnInputs, drawInputs } from '../oracle/draw-inputs.ts';
import { type AssignedValue, mutationOf, solutionOf } from '../oracle/mutated-inputs.ts';
import { choosableInputs } from '../oracle/secret/choosable-inputs.ts';
import { scalingOf } from '../oracle/secret/scaling.ts';
import { elementsOf } from '../oracle/shapes/cost.ts';
import { type DescentInput, descend } from './descend.ts';
import { distancesTo } from './distance-to-way.ts';
import type { SolverRequest } from './input-solver.ts';
import { isReached, type Met, type MetInputs } from './met-inputs.ts';
import { OperandWatch } from './operand-watch.ts';

/** Decisions that are tried, inputs from which each is, runs for one of these and in all, and the largest inputs: each run takes some milliseconds. */
const DESCENT = { decisions: 16, bases: 4, runs: 320, allRuns: 1200, elements: 2 ** 14 } as const;

/** Elements among which the least and the greatest are about those that may be drawn. */
const AMPLE = 64;

/** One try: to make a decision go the way that it has not gone, from the inputs of a check. */
interface Attempt {
  readonly place: number;
  readonly from: Met['inputs'];
}

/** The decisions that are tried, and what runs them. */
interface Watched {
  readonly places: readonly number[];
  readonly operands: OperandWatch | undefined;
}

/** Values with which a decision went the other way. */
interface Solution {
  readonly from: Met['inputs'];
  readonly values: readonly AssignedValue[];
}

/**
 * Looks for inputs with which decisions about values that went one way in every check go the other way, by {@link descend}. A planted condition on a value, or on what is computed
 * of values, is met so; whether results are right there, a check says as for any other inputs.
 */
export class InputDescent {
  readonly #request: SolverRequest;
  readonly #met: MetInputs;
  readonly #tried = new Set<string>();
  readonly #spreads = new Map<string, number>();
  readonly #solutions: Solution[] = [];
  #watch: Watched | undefined;
  #areJoined = false;
  #runs = 0;

  constructor(request: SolverRequest, met: MetInputs) {
    this.#request = request;
    this.#met = met;
  }

  /** A check in which a decision goes a way that it had not gone; `undefined` if none is found any more. */
  async next(): Promise<Check | undefined> {
    for (let attempt = this.#nextAttempt(); attempt; attempt = this.#nextAttempt()) {
      this.#tried.add(keyOf(attempt));
      const values = await this.#descend(attempt);
      if (!values || values.length === 0) continue;
      this.#solutions.push({ from: attempt.from, values });
      return checkOf({ from: attempt.from, values });
    }
    return this.#joined();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch?.operands?.[Symbol.asyncDispose]();
  }

  /** The first attempt that has not been made. Checks that passed meanwhile may have reached further decisions. */
  #nextAttempt(): Attempt | undefined {
    if (this.#runs >= DESCENT.allRuns) return undefined;
    this.#watch ??= this.#open();
    if (!this.#watch.operands) return undefined;
    const { device, module } = this.#request;
    const decisions = device.decisions!(module).decisions;
    return this.#watch.places
      .filter((place) => wentOneWay(decisions[place]!))
      .flatMap((place) => this.#basesFor(place).map((from) => ({ place, from })))
      .find((attempt) => !this.#tried.has(keyOf(attempt)));
  }

  #open(): Watched {
    const { device, module } = this.#request;
    const decisions = device.decisions?.(module).decisions ?? [];
    const alone = new Map(
      this.#met.places.filter((place) => isOpen(decisions[place])).map((place) => [sourceOf(decisions[place]!), place]),
    );
    const places = [...alone.values()].slice(0, DESCENT.decisions);
    return { places, operands: OperandWatch.open(this.#request, places, 'all') };
  }

  /**
   * Inputs of checks in which the decision was made: of each generator set of the problem those of a small shape, the declared ones of the largest shape, too; and first
   * inputs that were found for other decisions, since a condition is often asked for behind another.
   */
  #basesFor(place: number): Met['inputs'][] {
    const { problem } = this.#request;
    const sets = new Set([DECLARED, ...Object.keys(generatorSetsOf(problem.file))]);
    const reached = this.#met.all
      .filter((met) => isReached(met, place))
      .map(({ inputs }) => inputs)
      .filter(({ dimensions }) => elementsOf(problem.file, dimensions) <= DESCENT.elements)
      .toSorted((a, b) => elementsOf(problem.file, a.dimensions) - elementsOf(problem.file, b.dimensions));
    const ofProblem = reached.filter(({ generatorSet }) => sets.has(generatorSet));
    const isAmple = ({ dimensions }: Met['inputs']): boolean => elementsOf(problem.file, dimensions) >= AMPLE;
    const smallest = [...Map.groupBy(ofProblem, ({ generatorSet }) => generatorSet).values()].map(
      (alike) => alike.find(isAmple) ?? alike.at(-1)!,
    );
    const largest = ofProblem.filter(({ generatorSet }) => generatorSet === DECLARED).slice(-1);
    const found = reached.filter(({ generatorSet }) => this.#solutions.some((one) => nameOf(one) === generatorSet));
    const widest = smallest.toSorted((a, b) => this.#spreadOf(b) - this.#spreadOf(a));
    const bases = [...found.slice(-1), ...widest, ...largest];
    return [...new Map(bases.map((base) => [baseKey(base), base])).values()].slice(0, DESCENT.bases);
  }

  /** The greatest magnitude among all inputs: where values are widely spread, more may be chosen. Kept, since it is asked for again for every decision. */
  #spreadOf(inputs: Met['inputs']): number {
    const spread = (): number => Math.max(...Object.values(this.#draw(inputs).tensors).map(greatest));
    return rememberedAt(this.#spreads, baseKey(inputs), spread);
  }

  async #descend({ place, from }: Attempt): Promise<AssignedValue[] | undefined> {
    const { device, module } = this.#request;
    const decision = device.decisions!(module).decisions[place]!;
    const first = (await this.#operandsOf(from, this.#draw(from))).find((one) => one.place === place);
    if (!first || first.pairs.length === 0) return undefined;
    return descend({
      inputs: this.#inputsOf(from),
      compare: async (values) => {
        const drawn = values.length === 0 ? from : { ...from, generatorSet: nameOf({ from, values }) };
        const operands = await this.#operandsOf(drawn, this.#draw(drawn));
        return operands.find((one) => one.place === place)?.pairs;
      },
      distances: distancesTo(decision, first.type, !decision.wasTrue),
      mostRuns: Math.min(DESCENT.runs, DESCENT.allRuns - this.#runs),
    });
  }

  #draw({ dimensions, generatorSet }: Met['inputs'], seed = this.#request.seed): DrawnInputs {
    const { problem } = this.#request;
    return drawInputs({ problem, dimensions, seed, generatorSet, buffers: expandBuffers(problem.file, dimensions) });
  }

  async #operandsOf(inputs: Met['inputs'], { bytes }: DrawnInputs): Promise<readonly LoggedOperands[]> {
    this.#runs += 1;
    return this.#watch!.operands!.run({
      dimensions: inputs.dimensions,
      contents: bytes,
      name: describeCheck(inputs),
    });
  }

  #inputsOf(from: Met['inputs']): DescentInput[] {
    const { problem, seed } = this.#request;
    const { tensors } = this.#draw(from);
    const others = this.#draw(from, seed + 1).tensors;
    const names = Object.keys(problem.file.inputs);
    return choosableInputs(problem.file, tensors).map(({ place, dtype, takes }) => {
      const name = names[place]!;
      const values = tensors[name]!;
      const largest = greatest(values) * (scalingOf(problem.file, name)?.most ?? 1);
      return {
        ...{ place, dtype, values, others: others[name]! },
        takes: (value) => takes(value) && Math.abs(value) <= largest,
      };
    });
  }

  /** All that was found for one check's inputs at once: for conditions of which both parts have to hold. */
  #joined(): Check | undefined {
    if (this.#areJoined) return undefined;
    this.#areJoined = true;
    const [most] = [...Map.groupBy(this.#solutions, ({ from }) => baseKey(from)).values()].toSorted(
      (a, b) => b.length - a.length,
    );
    if (!most || most.length < 2) return undefined;
    return checkOf({ from: most[0]!.from, values: most.flatMap(({ values }) => values) });
  }
}

const baseKey = ({ dimensions, generatorSet }: Met['inputs']): string => `${valuesKey(dimensions)} ${generatorSet}`;

const keyOf = ({ place, from }: Attempt): string => `${place} ${baseKey(from)}`;

const nameOf = ({ from, values }: Solution): string => mutationOf(from.generatorSet, solutionOf(values));

const checkOf = (solution: Solution): Check => onceAt(solution.from.dimensions, nameOf(solution));

/** Whether it compares something, and has not gone both ways. */
const isOpen = (decision: ObservedDecision | undefined): boolean =>
  decision !== undefined && decision.kind !== 'combination' && !(decision.wasTrue && decision.wasFalse);

const wentOneWay = ({ wasTrue, wasFalse }: ObservedDecision): boolean => wasTrue !== wasFalse;

/** Unrolled copies of a decision are one: the last of them. */
const sourceOf = ({ place, calledFrom, kind, comparison, constant }: ObservedDecision): string =>
  JSON.stringify([place, calledFrom, kind, comparison, constant]);

function greatest(values: Float64Array): number {
  let most = 0;
  for (const value of values) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  return most;
}
