import type { CompiledCode } from '../../../core/compiled-code.ts';
import type { KernelSource, ParameterValues } from '../../../core/kernel.ts';
import type { Dimensions, ProblemSource } from '../../../core/problem.ts';
import {
  type Amount,
  combineAmounts,
  constant,
  evaluateAmount,
  printAmount,
  replaceRoots,
  root,
  rootsOf,
} from '../../../cuda-source/amounts.ts';
import type { Multiples } from '../probe-limits.ts';
import { couplings } from './couplings.ts';
import { findParameters, type Kernels, type Parameter, type Wanted } from './find-parameters.ts';
import { type Parametrised, parametrise } from './parametrise.ts';
import { probeSettings, type SettingsProbed } from './probe-settings.ts';

/** A rung with parameters that were seen to compute the same under other values. */
export interface RungParameters extends Parametrised {
  /** Dimension → what it must be a multiple of. */
  readonly tiles: ReadonlyMap<string, Amount>;
  /** Dimension → the largest that this is, under any setting that was tried. */
  readonly largestTiles: Multiples;
}

export interface RungRequest {
  readonly kernels: Kernels;
  readonly wanted: readonly Wanted[] | undefined;
  readonly problem: ProblemSource;
  readonly original: { readonly kernel: KernelSource; readonly code: CompiledCode };
  /** Of the kernel as it is written. */
  readonly multiples: Multiples;
  /** kernel.json of the rung with these parameters. */
  readonly kernelWith: (parametrised: Parametrised, tiles: ReadonlyMap<string, Amount>) => KernelSource;
}

/** The parameters of a rung, and a line for each that was left out; undefined if none is left. */
export async function rungParameters(
  request: RungRequest,
): Promise<{ readonly found?: RungParameters; readonly notes: readonly string[] }> {
  const { kernels, wanted, problem, original, multiples, kernelWith } = request;
  const parameters = findParameters(kernels, wanted);
  if (parameters.length === 0) return { notes: [] };
  const all = parametrise(kernels, parameters);
  const shape = probeShape(problem, multiples);
  const tiles = new Map([...multiples].map(([name, tile]) => [name, tilesOf(name, tile, all)] as const));
  const probed = await probeSettings({
    problem,
    original,
    kernel: kernelWith(all, new Map()),
    text: all.text,
    shape,
    tiles,
  });
  if (probed.broken !== undefined)
    return { notes: [`No parameters, tried as macros: ${listed(parameters)}. ${sentence(probed.broken)}`] };
  const kept = parameters.map((parameter) => withSeenValues(parameter, probed));
  const left = kept.filter(({ values, isGiven }) => values.length > 1 || isGiven);
  const notes = kept.flatMap((parameter) => noteOn(parameter, probed));
  if (left.length === 0) return { notes };
  const written = parametrise(kernels, left);
  const settled = { ...written, constraints: [...written.constraints, ...couplings(left, probed)] };
  const names = new Set(left.map(({ name }) => name));
  const held = new Map(
    [...multiples].map(
      ([name, tile]) => [name, withoutOthers(probed.tiles.get(name) ?? constant(tile), parameters, names)] as const,
    ),
  );
  const largestTiles = new Map([...held].map(([name, tile]) => [name, largest(tile, probed.verified)] as const));
  return { found: { ...settled, tiles: held, largestTiles }, notes };
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

const listed = (parameters: readonly Parameter[]): string => parameters.map(({ name }) => name).join(', ');

/** Room for tiles four times as large; sizes that no tile divides where there are no tiles. */
function probeShape({ checkShapes }: ProblemSource, multiples: Multiples): Dimensions {
  const awkward = checkShapes.at(-1)!.dimensions;
  return Object.fromEntries(
    Object.entries(awkward).map(([name, size]) => {
      const tile = multiples.get(name);
      return [name, tile === undefined ? size : 4 * tile];
    }),
  );
}

/** What a tile of this size may be: what the grid divides the dimension by, a parameter, a multiple or product of them. */
function tilesOf(name: string, tile: number, { parameters, steps }: Parametrised): Amount[] {
  const written = (one: string): number | undefined => parameters.find((parameter) => parameter.name === one)?.value;
  const isTile = (amount: Amount): boolean => evaluateAmount(amount, written) === tile;
  const singles = parameters.map((parameter) => root(parameter.name));
  const scaled = parameters
    .filter(({ value }) => value < tile && tile % value === 0 && value > 1)
    .map((parameter) => combineAmounts('*', constant(tile / parameter.value), root(parameter.name)));
  const products = singles.flatMap((a, i) => singles.slice(i + 1).map((b) => combineAmounts('*', a, b)));
  const divisors = steps.flatMap(({ grid }) => grid.flatMap((extent) => divisorsOf(extent, name)));
  const all = [
    ...divisors.filter((one) => rootsOf(one).length > 0),
    ...singles,
    constant(tile),
    ...scaled,
    ...products,
  ];
  return [...new Map(all.filter(isTile).map((one) => [printAmount(one), one] as const)).values()];
}

/** Of `ceilDiv(N, BN)` and `floor(N / BN)`: BN. */
function divisorsOf(amount: Amount, name: string): Amount[] {
  if (amount.kind !== 'operation') return [];
  const [whole, part] = amount.operands;
  const isDivided = /^(?:\/\/|ceilDiv)$/.test(amount.operator) && whole!.kind === 'root' && whole!.name === name;
  return [...(isDivided ? [part!] : []), ...amount.operands.flatMap((operand) => divisorsOf(operand, name))];
}

/** With the values that were seen to give the same results; all that the user gave where none was. */
function withSeenValues(parameter: Parameter, { verified }: SettingsProbed): Parameter {
  const values = parameter.values.filter((one) => verified.some((setting) => setting[parameter.name] === one));
  return parameter.isGiven && values.length === 1 ? parameter : { ...parameter, values };
}

function noteOn({ name, value, values, isGiven }: Parameter, { verified, refused }: SettingsProbed): string[] {
  if (verified.some((setting) => setting[name] !== value)) return [];
  const last = refused.findLast(({ setting }) => setting[name] !== value);
  const why = last ? `${name}=${last.setting[name]} ${last.reason}` : 'no launch takes another value';
  return [
    isGiven && values.length > 1 ? `No other value of ${name} verified: ${why}.` : `${name} stays ${value}: ${why}.`,
  ];
}

const withoutOthers = (tile: Amount, parameters: readonly Parameter[], names: ReadonlySet<string>): Amount =>
  replaceRoots(tile, (name) =>
    names.has(name) ? undefined : constant(parameters.find((one) => one.name === name)!.value),
  );

const largest = (tile: Amount, settings: readonly ParameterValues[]): number =>
  Math.max(...settings.map((setting) => evaluateAmount(tile, (name) => setting[name]) ?? 1));
