import type { DependsOn, ForeseenWays, ObservedDecision, Ways } from '../../core/decisions.ts';
import type { PlannedLaunch } from '../../core/launch-plan.ts';
import { definitionsAndUses } from '../../ptx/instructions/properties.ts';
import type { Analysis } from '../analyse-function.ts';
import { DECISION } from '../layout.ts';
import { packParameters } from '../pack-parameters.ts';
import { LaunchConditions } from './launch-conditions.ts';
import { provenanceOf } from './provenance.ts';

/** Which ways the decisions of one function went, over all its launches. */
export class DecisionLog {
  readonly #function: Pick<Analysis, 'fn' | 'decisions'>;
  readonly #records: Uint8Array;
  /** Of the launches since they were last taken. */
  readonly #recent: Uint8Array;
  readonly #blocks = new Set<string>();
  #conditions: LaunchConditions | undefined;
  #dependsOn: readonly DependsOn[] | undefined;

  constructor(analysis: Pick<Analysis, 'fn' | 'decisions'>) {
    this.#function = analysis;
    this.#records = new Uint8Array(analysis.decisions.sites.length * DECISION.bytes);
    this.#recent = this.#records.slice();
  }

  get count(): number {
    return this.#function.decisions.sites.length;
  }

  get leftOut(): number {
    return this.#function.decisions.leftOut;
  }

  /** @param records of each worker's CTAs, as the image lays them out. */
  add({ block }: Pick<PlannedLaunch, 'block'>, records: readonly Uint8Array[]): void {
    this.#blocks.add(block.join());
    for (const record of records)
      for (let i = 0; i < record.length; i++) {
        this.#records[i]! |= record[i]!;
        this.#recent[i]! |= record[i]!;
      }
  }

  /** Which ways each decision went in the launches since this was asked last. */
  takeRecent(): Ways[] {
    const ways = this.#function.decisions.sites.map((_, index) => waysIn(this.#recent, index));
    this.#recent.fill(0);
    return ways;
  }

  observed(): ObservedDecision[] {
    const conditions = this.#launchConditions();
    this.#dependsOn ??= this.#whatDecisionsDependOn();
    return this.#function.decisions.sites.map((site, index) => ({
      ...site,
      ...waysIn(this.#records, index),
      isSettled: this.#blocks.size === 1 && conditions.followsFromThread(index),
      dependsOn: this.#dependsOn![index]!,
    }));
  }

  /** Which ways these decisions would go in a launch, if that follows from the launch. */
  foresee({ grid, block, arguments: values }: PlannedLaunch, sites: readonly number[]): Map<number, ForeseenWays> {
    const { parameters } = this.#function.fn;
    if (values.length !== parameters.length) return new Map();
    const packed = packParameters(parameters, values, () => SOME_BUFFER);
    const foresight = this.#launchConditions().of({ grid, block, parameters: packed });
    return new Map(
      sites.flatMap((site): [number, ForeseenWays][] => {
        const ways = foresight(site);
        return ways ? [[site, ways]] : [];
      }),
    );
  }

  #whatDecisionsDependOn(): DependsOn[] {
    const { fn, decisions } = this.#function;
    const { values, chance, progress } = provenanceOf(fn, 'anywhere');
    const dependsOn = decisions.sites.map((): DependsOn => 'launch');
    for (const [instruction, index] of decisions.indexOf) {
      const uses = [...definitionsAndUses(instruction).uses];
      const isOf = (registers: ReadonlySet<string>): boolean => uses.some((register) => registers.has(register));
      if (isOf(values)) dependsOn[index] = 'values';
      else if (isOf(chance)) dependsOn[index] = 'chance';
      else if (isOf(progress)) dependsOn[index] = 'other threads';
    }
    return dependsOn;
  }

  #launchConditions(): LaunchConditions {
    const { fn, decisions } = this.#function;
    this.#conditions ??= new LaunchConditions(fn, decisions);
    return this.#conditions;
  }
}

const waysIn = (records: Uint8Array, site: number): Ways => ({
  wasTrue: records[site * DECISION.bytes + DECISION.wasTrue] !== 0,
  wasFalse: records[site * DECISION.bytes + DECISION.wasFalse] !== 0,
});

/** Where every buffer is taken to lie: nothing is known of addresses before memory is allocated. */
const SOME_BUFFER = 1 << 20;
