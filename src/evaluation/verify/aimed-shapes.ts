import { eitherWay, type ForeseenWays, type Ways } from '../../core/decisions.ts';
import type { Device } from '../../core/device.ts';
import type { LoadedModule } from '../../core/device-values.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { Dimensions } from '../../core/problem.ts';
import { launchesOf } from './verify-request.ts';

/** What shapes are aimed at. */
export interface Aim {
  readonly device: Device;
  readonly module: LoadedModule;
  readonly planFor: (dimensions: Dimensions) => LaunchPlan;
  /** Shapes to choose from, in the order in which they are tried. */
  readonly pool: () => readonly Dimensions[];
  /** Whether a shape of the pool can be verified. */
  readonly isFit: (dimensions: Dimensions) => boolean;
  /** Shapes that the seed drew and that were verified. */
  readonly drawn: readonly Dimensions[];
  readonly most: number;
  /**
   * In how many shapes a condition should go each way: in any, at least; and in as many in which other conditions go ways that
   * they have not gone beside it.
   */
  readonly ofEach: { readonly least: number; readonly most: number };
}

/** A decision, by its place, and a way that it has not gone. */
interface Target {
  readonly place: number;
  readonly way: keyof Ways;
  shapes: number;
  /** Ways that other decisions go in shapes chosen for this one. */
  readonly beside: Set<string>;
}

/** Of how many shapes a CPU works out the conditions: some tenths of a second. */
export const MOST_FORESEEN = 400;

const WAYS = ['wasTrue', 'wasFalse'] as const satisfies (keyof Ways)[];

/**
 * Shapes in which a condition that follows from the launch goes a way that it has gone in no drawn shape: `N % 89 == 17`, or a path
 * for large sizes that only the shapes known to everybody take. Found by working the conditions out, without running anything.
 */
export function aimedShapes(aim: Aim): Dimensions[] {
  const { pool, drawn, most, ofEach } = aim;
  const wasSeen = new Map<number, Ways>();
  const places = placesOfConditions(aim);
  for (const shape of drawn) {
    for (const [place, ways] of foreseen(aim, shape, places)) wasSeen.set(place, eitherWay(wasSeen.get(place), ways));
  }
  let targets = [...(wasSeen.size > 0 ? wasSeen : foreseen(aim, pool()[0] ?? {}, places))].flatMap(
    ([place]): Target[] => {
      const ways = wasSeen.get(place);
      return WAYS.filter((way) => !ways?.[way]).map((way) => ({ place, way, shapes: 0, beside: new Set() }));
    },
  );
  const chosen: Dimensions[] = [];
  for (const shape of targets.length > 0 ? pool().slice(0, MOST_FORESEEN) : []) {
    if (targets.length === 0 || chosen.length === most) break;
    const ways = foreseen(aim, shape, [...new Set(targets.map(({ place }) => place))]);
    const hit = targets.filter(({ place, way }) => ways.get(place)?.[way] ?? false);
    if (hit.length === 0) continue;
    const others = waysIn(foreseen(aim, shape, places));
    const shown = hit.filter(
      ({ shapes, beside }) => shapes < ofEach.least || others.some((other) => !beside.has(other)),
    );
    if (shown.length === 0 || !aim.isFit(shape)) continue;
    chosen.push(shape);
    for (const target of hit) {
      target.shapes += 1;
      for (const other of others) target.beside.add(other);
    }
    targets = targets.filter(({ shapes }) => shapes < ofEach.most);
  }
  return chosen;
}

/** The first of them that fit, so many at most; no more are asked. */
export function firstFitting<T>(all: readonly T[], fits: (one: T) => boolean, most: number): T[] {
  const found: T[] = [];
  for (const one of all) {
    if (found.length === most) break;
    if (fits(one)) found.push(one);
  }
  return found;
}

/** Names of the functions that a plan launches; none where the plan has a mistake, which is reported elsewhere. */
export const functionsIn = (plan: () => LaunchPlan): string[] => [
  ...new Set(launchesOf(plan).map(({ functionName }) => functionName)),
];

const waysIn = (foreseenWays: ReadonlyMap<number, Ways>): string[] =>
  [...foreseenWays].flatMap(([place, ways]) => WAYS.filter((way) => ways[way]).map((way) => `${place} ${way}`));

/** Places of the decisions that shapes or inputs may make go otherwise, bounds left out. */
export const placesOfConditions = ({ device, module }: Pick<Aim, 'device' | 'module'>): number[] =>
  (device.decisions?.(module).decisions ?? []).flatMap(({ isSettled, kind }, place) =>
    isSettled || kind === 'bound' ? [] : [place],
  );

/** Numbers of the ways that conditions go: twice the place of one, and 1 more for `true`. */
export const wayNumbers = (ways: ReadonlyMap<number, Ways>): number[] =>
  [...ways].flatMap(([place, { wasTrue, wasFalse }]) => [
    ...(wasFalse ? [2 * place] : []),
    ...(wasTrue ? [2 * place + 1] : []),
  ]);

/** Nothing is foreseen where the plan has a mistake, which is reported elsewhere. */
export function foreseen(
  { device, module, planFor }: Pick<Aim, 'device' | 'module' | 'planFor'>,
  shape: Dimensions,
  places: readonly number[],
): ReadonlyMap<number, ForeseenWays> {
  try {
    return device.foresee?.(module, planFor(shape), places) ?? new Map();
  } catch (error) {
    if (error instanceof WarpsmithError) return new Map();
    throw error;
  }
}
