import { sizeOfDType } from '../../core/dtype.ts';
import type { Coverage, UnreachedWidth } from '../../core/evaluation.ts';
import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import { rememberedAt } from '../../core/once-for.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { distinctValues, isSame, numbersBelow, roundUp } from '../../core/values.ts';
import type { WidthLog } from '../../core/widths.ts';
import { below, byLot, createStream, inOrder } from '../../stats/random.ts';
import { elementCountOf } from '../launches/layout.ts';
import { type Check, DECLARED, describeCheck, extremeCheck } from '../oracle/check.ts';
import { shapesForConditions } from '../oracle/checks/for-conditions.ts';
import { type ChecksRequest, extremeCost, isQuickToRun, takesShape, threadsOf } from '../oracle/checks/request.ts';
import { secretSetsInTurn } from '../oracle/checks/sets.ts';
import { isPlacement } from '../oracle/secret/secret-set.ts';
import { variantSetsOf } from '../oracle/secret/sets-of-problem.ts';
import { isOfMoments } from '../oracle/secret/variants/index.ts';
import { elementsOf, isWithin, volumeOf } from '../oracle/shapes/cost.ts';
import { hasSeveralTiles, isTelling, listedNames, openNames, withListed } from '../oracle/shapes/drawing.ts';
import { isJudgedLongRow } from '../oracle/shapes/large.ts';
import { type Growth, growthsOf, type Magnitude, magnitudeAt, matches } from './growth-of-magnitudes.ts';
import { excerpt, SHORT_EXCERPT } from './one-way-conditions.ts';
import { openCopy, runCopy } from './run-copy.ts';
import { alignmentOf, BESIDE, type Reaching, shapesReaching, shapeWithSizes } from './shapes-reaching.ts';
import type { VerifyRequest } from './verify-request.ts';

/** Shapes at which magnitudes are looked at: of each dimension some in which it is as large as is cheap, and others by lot. */
const LOOKED_AT = { most: 48, long: 8, longest: 2 ** 14, least: 64, cost: { flop: 6e6, elements: 1.6e5 } } as const;

/** How many shapes are run, how many tried, and how many elements and threads all of them have together. */
const MOST = { shapes: 8, tried: 16, elements: 2 ** 24, threads: 2 ** 24 } as const;

/** By how much the first shape that reaches an end goes beyond it, and the second where shapes have few elements. */
const BEYOND = { first: 1.04, second: 1.6, few: 2 ** 20 } as const;

/** A shape of some list that fits is looked for among so many of its first ones. */
const MOST_PLANNED = 6;

/** Ends up to here are near enough that shapes are sought for every product that the magnitude may follow. */
const NEAR_END = 2 ** 24;

/** An estimate that is off by so much is of something else. */
const FAR_OFF = 4;

/** A prediction that exceeds an end by so much counts as having reached it. */
const SURE = 1.1;

/** Magnitudes of ends that are named follow sizes as closely. */
const NAMED_SPREAD = 0.3;

/** One end of one site. */
interface Threshold {
  readonly site: number;
  readonly end: number;
}

/** Ends of widths of whole numbers, treated as conditions: shapes are sought in which numbers get as large. Of thorough verifications on virtual devices. */
export class WidthSearch {
  readonly #request: VerifyRequest;
  readonly #choice: ChecksRequest;
  readonly #magnitudes: Magnitude[][] = [];
  readonly #growths = new Map<number, Growth[]>();
  #sites: WidthLog['sites'] = [];
  #listed: Listed | undefined;

  constructor(request: VerifyRequest, choice: ChecksRequest) {
    this.#request = request;
    this.#choice = choice;
  }

  /** Checks of shapes in which numbers of the candidate end that end in none of those that ran. */
  async checks(coverage: Coverage, ran: readonly Check[]): Promise<Check[]> {
    const { problem } = this.#request;
    await this.#look(ran);
    const open = this.#open(ran);
    if (open.length === 0) return [];
    const found = await this.#reach(open);
    coverage.drawnShapes = [...coverage.drawnShapes, ...found];
    const { seed } = this.#request;
    const secrets = secretSetsInTurn(problem.file, seed);
    const arranged = secrets.includes('secret:rows') ? 'secret:rows' : secrets.find(isPlacement);
    const moments = variantSetsOf(problem.file).filter(isOfMoments);
    return found.flatMap((shape) => {
      const further = isJudgedLongRow(problem.file, shape) ? moments : arranged === undefined ? [] : [arranged];
      return [DECLARED, ...further].map((generatorSet) => ({ ...extremeCheck(shape), generatorSet }));
    });
  }

  /** Ends that no check has reached, in shapes that fit in the device's memory: those of the smallest shapes first, of each line one. */
  unreached(ran: readonly Check[]): UnreachedWidth[] {
    const { device, problem, candidate } = this.#request;
    const named = this.#open(ran).flatMap(({ site, end }) => {
      const [growth] = this.#growthsOf(site);
      if (!growth || growth.spread > NAMED_SPREAD) return [];
      const [shape] = shapesReaching(this.#known(), growth, end, 1);
      const bytes = shape && bytesOf(problem.file, shape);
      if (bytes === undefined || bytes > device.spec.dramBytes.value) return [];
      const { place, holds } = this.#sites[site]!;
      const text = excerpt(
        candidate.kernel.sources[place.file]?.split('\n')[place.line - 1] ?? '',
        place.column,
        SHORT_EXCERPT,
      );
      return [{ width: { place, text, holds, product: nameOf(growth), from: end / growth.ratio }, bytes }];
    });
    const inTurn = named.toSorted((a, b) => a.bytes - b.bytes).map(({ width }) => width);
    return [...Map.groupBy(inTurn, ({ place }) => `${place.file}:${place.line}`).values()].map(([first]) => first!);
  }

  /** Runs a copy of the module that keeps magnitudes at small shapes that ran. */
  async #look(ran: readonly Check[]): Promise<void> {
    const shapes = shapesToLookAt(this.#request, this.#known(), ran);
    await this.#runCopies(undefined, async (run) => {
      for (const shape of shapes) await run(shape);
    });
  }

  /** Thresholds that no shape that ran seems to reach, of sites whose magnitudes follow sizes. */
  #open(ran: readonly Check[]): Threshold[] {
    const { file } = this.#request.problem;
    // Of one key, the weight is 1 wherever it lies.
    const shapes = distinctValues(ran.map(({ dimensions }) => dimensions)).filter((shape) => isTelling(file, shape));
    return this.#sites.flatMap(({ ends }, site) => {
      const growths = this.#growthsOf(site);
      if (growths.length === 0) return [];
      const met = this.#magnitudes[site]!.filter(({ dimensions }) => isTelling(file, dimensions));
      const seen = Math.max(0, ...met.map(({ magnitude }) => magnitude));
      // By all that explain it: heads of queries may pass for heads of keys.
      const leastAt = (shape: Dimensions): number =>
        Math.min(
          ...growths
            .filter((growth, rank) => rank === 0 || matches(shape, growth.flags))
            .map((growth) => magnitudeAt(growth, shape)),
        );
      const expected = Math.max(0, ...shapes.map(leastAt)) / SURE;
      return ends.filter((end) => Math.max(seen, expected) < end).map((end) => ({ site, end }));
    });
  }

  #growthsOf(site: number): Growth[] {
    const found = (): Growth[] => growthsOf(this.#request.problem.file, this.#magnitudes[site] ?? []);
    return rememberedAt(this.#growths, site, found);
  }

  /** Finds shapes that reach thresholds, the cheapest first. Each is tried with a copy of the module: where an end was not reached, the estimate is corrected once. */
  async #reach(open: readonly Threshold[]): Promise<Dimensions[]> {
    const found: Dimensions[] = [];
    const reached = new Map(open.map((threshold) => [threshold, 0]));
    let left: Readonly<Record<keyof typeof MOST, number>> = MOST;
    const costOf = (shape: Dimensions): number => elementsOf(this.#request.problem.file, shape);
    const threadsAt = (shape: Dimensions): number => threadsOf(this.#choice.launches?.(shape) ?? []);
    const isOpen = (threshold: Threshold, most: number): boolean => reached.get(threshold)! < most;
    const affordable = (threshold: Threshold, growth: Growth, beyond: number): Dimensions | undefined => {
      const fits = (shape: Dimensions): boolean =>
        costOf(shape) <= left.elements && threadsAt(shape) <= left.threads && this.#isFit(shape);
      for (const beside of BESIDE) {
        const shapes = shapesReaching(this.#known(), growth, threshold.end * beyond, beside);
        const cheap = shapes.slice(0, MOST_PLANNED).filter((shape) => this.#isAffordable(shape));
        const shape = cheap.find(fits);
        if (shape) return shape;
      }
      return undefined;
    };
    const known = new Map<string, Dimensions | undefined>();
    const planned = (threshold: Threshold, growth: Growth, beyond: number): Dimensions | undefined => {
      const key = JSON.stringify([growth.product, growth.flags, (threshold.end / growth.ratio).toPrecision(2), beyond]);
      if (!known.has(key)) known.set(key, affordable(threshold, growth, beyond));
      return known.get(key);
    };
    await this.#runCopies(new Set(open.map(({ site }) => site)), async (run) => {
      /** Whether the threshold was reached there. */
      const attempt = async (threshold: Threshold, shape: Dimensions): Promise<boolean> => {
        left = {
          ...left,
          tried: left.tried - 1,
          elements: left.elements - costOf(shape),
          threads: left.threads - threadsAt(shape),
        };
        const magnitudes = await run(shape);
        const there = open.filter(({ site, end }) => (magnitudes[site] ?? 0) >= end);
        if (there.some((one) => isOpen(one, 2)) && !found.some((other) => isSame(other, shape))) {
          found.push(shape);
          left = { ...left, shapes: left.shapes - 1 };
          for (const one of there) reached.set(one, reached.get(one)! + 1);
        }
        return there.includes(threshold);
      };
      for (const beyond of [BEYOND.first, BEYOND.second]) {
        const isFirst = beyond === BEYOND.first;
        const plans = open.flatMap((threshold) => {
          if (!isOpen(threshold, isFirst ? 1 : 2)) return [];
          return this.#growthsOf(threshold.site).flatMap((growth, rank) => {
            const isWanted = rank === 0 || (isFirst && threshold.end <= NEAR_END);
            const shape = isWanted ? planned(threshold, growth, beyond) : undefined;
            return shape ? [{ threshold, growth, shape, rank, cost: costOf(shape) }] : [];
          });
        });
        for (const { threshold, growth, shape, cost } of plans.toSorted((a, b) => a.rank - b.rank || a.cost - b.cost)) {
          if (left.shapes === 0 || left.tried === 0) return;
          if (!isOpen(threshold, isFirst ? 1 : 2) || cost > left.elements || (!isFirst && cost > BEYOND.few)) continue;
          if (await attempt(threshold, shape)) continue;
          const corrected = isFirst ? this.#corrected(threshold.site, growth, shape) : undefined;
          const again = corrected && affordable(threshold, corrected, beyond);
          if (again && left.shapes > 0 && left.tried > 0 && !isSame(again, shape)) await attempt(threshold, again);
        }
      }
    });
    return found;
  }

  /** The same growth by what was seen at a shape; another one where that is far from what was expected. */
  #corrected(site: number, growth: Growth, shape: Dimensions): Growth | undefined {
    const seen = this.#magnitudes[site]!.findLast(({ dimensions }) => dimensions === shape)?.magnitude ?? 0;
    const expected = magnitudeAt(growth, shape);
    return seen > expected / FAR_OFF
      ? { ...growth, ratio: (growth.ratio * seen) / expected }
      : this.#growthsOf(site)[0];
  }

  /** Whether a shape costs no more than those of a thorough verification. */
  #isAffordable(shape: Dimensions): boolean {
    const { file } = this.#request.problem;
    return isWithin(extremeCost(file, true, 'thorough'), file, shape);
  }

  #isFit(shape: Dimensions): boolean {
    const { file } = this.#request.problem;
    if (isJudgedLongRow(file, shape))
      return takesShape(this.#choice)(shape) && isQuickToRun(this.#choice, shape, 'wide');
    return shapesForConditions(this.#choice, []).isFitWithMoreThreads(shape);
  }

  /** Runs copies of the module and keeps the magnitudes that they find. */
  async #runCopies(
    among: ReadonlySet<number> | undefined,
    use: (run: (shape: Dimensions) => Promise<readonly number[]>) => Promise<void>,
  ): Promise<void> {
    const { device, problem, seed, oracle } = this.#request;
    const log = openCopy(() => device.logWidths?.(this.#request.module, among));
    if (!log) return;
    this.#sites = log.sites;
    try {
      await use(async (dimensions) => {
        const contents = oracle.check({ problem, seed, dimensions, generatorSet: DECLARED }).inputs.bytes;
        const name = describeCheck({ dimensions, generatorSet: DECLARED });
        const ended = await runCopy(this.#request, log.module, { dimensions, contents, name });
        const magnitudes = log.take();
        if (!ended) return [];
        for (const [site, magnitude] of magnitudes.entries()) {
          if (magnitude === 0) continue;
          this.#magnitudes[site] = [...(this.#magnitudes[site] ?? []), { dimensions, magnitude }];
          this.#growths.delete(site);
        }
        return magnitudes;
      });
    } finally {
      await device.unload(log.module);
    }
  }

  #known(): Listed {
    this.#listed ??= reachingOf(this.#request, takesShape({ ...this.#choice, fits: undefined }));
    return this.#listed;
  }
}

/** Small shapes in which one dimension is large and others are few, and some that ran, those with several tiles first. */
function shapesToLookAt(
  { problem: { file }, seed }: VerifyRequest,
  { busiest, ...reaching }: Listed,
  ran: readonly Check[],
): Dimensions[] {
  const isCheap = (shape: Dimensions): boolean => isWithin(LOOKED_AT.cost, file, shape);
  const usual = ran.filter(({ multiprocessors }) => multiprocessors === undefined).map(({ dimensions }) => dimensions);
  const inLot = byLot(distinctValues(usual).filter(isCheap), seed, 'shapes for magnitudes');
  const next = inOrder(createStream(seed, 'sizes of shapes for magnitudes'));
  const long = openNames(file).flatMap((name) =>
    numbersBelow(LOOKED_AT.long).flatMap((i) => {
      const among = i % 2 === 0 ? busiest : reaching.listed;
      const listed = among[below(next, among.length)];
      const [beside, apart] = [2 + below(next, 4), 1 + below(next, 3)];
      for (let size = listed ? LOOKED_AT.longest * 0.25 ** next() : 0; size > LOOKED_AT.least; size /= 2) {
        const shape = shapeWithSizes(reaching, { sizes: { [name]: Math.ceil(size) }, listed: listed!, beside, apart });
        if (shape && isCheap(shape)) return [shape];
      }
      return [];
    }),
  );
  const several = inLot.filter((shape) => hasSeveralTiles(file, shape));
  return [...new Set([...long, ...several, ...inLot])].slice(0, LOOKED_AT.most);
}

/** Sizes at which it is asked which listed values the kernel takes, and with which of them most is computed. */
const USUAL_SIZES = [64, 128, 256, 1024] as const;

/** No multiple of a tile. */
const RAGGED_SIZE = 101;

interface Listed extends Reaching {
  /** Those of the combinations with whose flags most is computed. */
  readonly busiest: readonly Dimensions[];
}

/** Combinations of listed values that the kernel takes: small ones first, and flags with which most is computed, since a causal mask leaves little of many keys. */
function reachingOf({ problem: { file }, dimensions: timed }: VerifyRequest, takes: Reaching['takes']): Listed {
  const open = openNames(file);
  const sized = (listed: Dimensions, size: number, alignment: number): Dimensions => ({
    ...listed,
    ...Object.fromEntries(open.map((name) => [name, roundUp(size, alignment)])),
  });
  const shapesWith = (listed: Dimensions): Dimensions[] => [
    { ...timed, ...listed },
    ...USUAL_SIZES.map((size) => ({
      ...listed,
      ...Object.fromEntries(open.map((name) => [name, Math.min(size, file.dimensions[name]!.maximum ?? size)])),
    })),
  ];
  const several = Object.keys(file.dimensions).filter((name) => (file.dimensions[name]!.values?.length ?? 0) > 2);
  const taken = withListed(file, listedNames(file)).flatMap((listed) => {
    const shape = shapesWith(listed).find(takes);
    if (!shape) return [];
    const size = volumeOf(Object.fromEntries(several.map((name) => [name, listed[name]!])));
    return [{ listed, size, flop: evaluateExpression(file.flop, { ...shape, ...listed }) }];
  });
  const alignment = alignmentOf((one) => taken.some(({ listed }) => takes(sized(listed, RAGGED_SIZE, one))));
  const inTurn = taken.toSorted((a, b) => a.size - b.size || b.flop - a.flop);
  const most = new Map(taken.toSorted((a, b) => a.flop - b.flop).map(({ size, flop }) => [size, flop]));
  return {
    ...{ problem: file, takes, alignment },
    listed: inTurn.map(({ listed }) => listed),
    busiest: inTurn.filter(({ size, flop }) => flop === most.get(size)).map(({ listed }) => listed),
  };
}

const bytesOf = (problem: ProblemFile, shape: Dimensions): number =>
  expandBuffers(problem, shape).reduce((sum, buffer) => sum + elementCountOf(buffer) * sizeOfDType(buffer.dtype), 0);

/** `Hkv * D, bshd = 1`. */
function nameOf({ product, flags }: Growth): string {
  const factors = Object.entries(product).flatMap(([name, power]) => Array<string>(power).fill(name));
  return [factors.join(' * '), ...Object.entries(flags).map(([name, value]) => `${name} = ${value}`)].join(', ');
}
