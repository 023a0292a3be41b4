import type { Ways } from '../../core/decisions.ts';
import { rememberedAt } from '../../core/once-for.ts';
import { valuesKey } from '../../core/values.ts';
import { createStream } from '../../stats/random.ts';
import { type Check, onceAt } from '../oracle/check.ts';
import { mutatedSetOf, mutationOf } from '../oracle/mutated-inputs.ts';
import type { Met, MetInputs } from './met-inputs.ts';

/** How many inputs are bred for each rare way, and in all. */
const BRED = { ofEach: 16, most: 192 } as const;

/** A way is rare that no more than this share of the checks has. */
const RARE = 1 / 4;

/**
 * Breeds inputs as a fuzzer guided by coverage does. A shortcut that looks at a few values ("this tile is empty", "this vector repeats") is right for
 * inputs that are wholly so. So what made a decision go a rare way is changed at some places, and judged: where the decision still goes that
 * way, results must follow the change. Inputs that show a way of their own are bred on.
 */
export class InputGuide {
  readonly #seed: number;
  readonly #met: MetInputs;
  /** How many inputs were bred from those of a check. */
  readonly #children = new Map<Met, number>();
  readonly #bredFor = new Map<string, number>();
  readonly #features = new Features();
  #bred = 0;

  constructor(seed: number, met: MetInputs) {
    this.#seed = seed;
    this.#met = met;
  }

  /** A check with inputs bred from those of a check with a rare way; `undefined` if there is none, or all had their turns. */
  next(): Check | undefined {
    if (this.#bred === BRED.most || this.#met.all.length === 0) return undefined;
    const feature = this.#nextFeature();
    if (!feature) return undefined;
    const parent = feature.met.toSorted(
      (a, b) => this.#childrenOf(a) - this.#childrenOf(b) || depthOf(a) - depthOf(b),
    )[0]!;
    this.#children.set(parent, this.#childrenOf(parent) + 1);
    this.#bred += 1;
    this.#bredFor.set(feature.name, this.#bredForOf(feature.name) + 1);
    const { dimensions, generatorSet } = parent.inputs;
    const change = createStream(this.#seed, 'changes of inputs').bits(this.#bred) % MOST_CHANGES;
    return onceAt(dimensions, mutationOf(generatorSet, change));
  }

  /** The rare way for which the fewest inputs have been bred; of those, the rarest. */
  #nextFeature(): Feature | undefined {
    const { all, places } = this.#met;
    const rare = this.#features
      .of(all, places)
      .filter(({ name, met }) => met.length <= RARE * all.length && this.#bredForOf(name) < BRED.ofEach);
    return rare.sort(
      (a, b) =>
        this.#bredForOf(a.name) - this.#bredForOf(b.name) ||
        Number(b.isOfValues) - Number(a.isOfValues) ||
        a.met.length - b.met.length,
    )[0];
  }

  #childrenOf(met: Met): number {
    return this.#children.get(met) ?? 0;
  }

  #bredForOf(feature: string): number {
    return this.#bredFor.get(feature) ?? 0;
  }
}

const MOST_CHANGES = 1e6;

const depthOf = ({ inputs }: Met): number => mutatedSetOf(inputs.generatorSet)?.changes.length ?? 0;

/** A way in which a decision went, and the checks in which it did: `3 only true`. */
interface Feature {
  readonly name: string;
  readonly met: readonly Met[];
  /** Of one shape, the decision went in more than one way; elsewhere, sizes may explain it. */
  readonly isOfValues: boolean;
}

/** What the checks showed of one decision. */
interface OfPlace {
  readonly byWay: Map<string, Met[]>;
  /** By shape: the first way. */
  readonly firstWays: Map<string, string>;
  isOfValues: boolean;
}

/** The features of all checks so far. Each check is taken in once: there are hundreds, and the features are asked for after each. */
class Features {
  readonly #places = new Map<number, OfPlace>();
  #known = 0;

  /** @param met checks: those of before, and further ones. */
  of(met: readonly Met[], places: readonly number[]): Feature[] {
    for (const one of met.slice(this.#known)) this.#add(one, places);
    this.#known = met.length;
    return places.flatMap((place) => {
      const { byWay, isOfValues } = this.#of(place);
      return [...byWay].map(([way, alike]) => ({ name: `${place} ${way}`, met: alike, isOfValues }));
    });
  }

  #add(met: Met, places: readonly number[]): void {
    const shape = valuesKey(met.inputs.dimensions);
    for (const place of places) {
      const way = wayOf(met.ways[place]);
      const known = this.#of(place);
      const first = known.firstWays.get(shape);
      if (first === undefined) known.firstWays.set(shape, way);
      else known.isOfValues ||= first !== way;
      if (way === 'never') continue;
      rememberedAt(known.byWay, way, (): Met[] => []).push(met);
    }
  }

  #of(place: number): OfPlace {
    return rememberedAt(this.#places, place, () => ({ byWay: new Map(), firstWays: new Map(), isOfValues: false }));
  }
}

/** A decision that always went one way says as much as one that went both. */
function wayOf({ wasTrue, wasFalse }: Ways = { wasTrue: false, wasFalse: false }): string {
  if (wasTrue && wasFalse) return 'both ways';
  return wasTrue ? 'only true' : wasFalse ? 'only false' : 'never';
}
