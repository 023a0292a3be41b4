import type { ObservedDecision } from '../../core/decisions.ts';
import { DECISION } from '../layout.ts';
import type { DecisionSites } from './decision-sites.ts';

/** Which ways the decisions of one function went, over all its launches. */
export class DecisionLog {
  readonly leftOut: number;
  readonly #sites: DecisionSites['sites'];
  readonly #records: Uint8Array;

  constructor({ sites, leftOut }: DecisionSites) {
    this.#sites = sites;
    this.leftOut = leftOut;
    this.#records = new Uint8Array(sites.length * DECISION.bytes);
  }

  /** @param records of one worker's CTAs, as the image lays them out. */
  add(records: Uint8Array): void {
    for (let i = 0; i < records.length; i++) this.#records[i]! |= records[i]!;
  }

  observed(): ObservedDecision[] {
    return this.#sites.map((site, index) => ({
      ...site,
      wasTrue: this.#records[index * DECISION.bytes + DECISION.wasTrue] !== 0,
      wasFalse: this.#records[index * DECISION.bytes + DECISION.wasFalse] !== 0,
    }));
  }
}
