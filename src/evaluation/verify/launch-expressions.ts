import type { LaunchChoice } from '../../core/evaluation.ts';
import { canBe, type ObservedChoice, observingChoices } from '../../core/expressions/evaluate.ts';
import { childrenOf, type ExpressionNode } from '../../core/expressions/syntax-tree.ts';
import { textOf } from '../../core/expressions/to-text.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { distinctValues, valuesKey } from '../../core/values.ts';
import { volumeOf } from '../oracle/shapes/cost.ts';
import { listedNames, withListed } from '../oracle/shapes/drawing.ts';
import { firstFitting, functionsIn } from './aimed-shapes.ts';
import type { VerifyRequest } from './verify-request.ts';

/** A shape that was planned, on a GPU with the device's own number of multiprocessors unless another is given. */
export interface Planned {
  readonly dimensions: Dimensions;
  readonly multiprocessors?: number | undefined;
}

type Request = Pick<VerifyRequest, 'problem' | 'candidate' | 'planFor'>;

/** A condition, minimum or maximum of kernel.json and the ways that it may come out. */
interface Choice {
  readonly path: string;
  readonly node: ExpressionNode;
  readonly ways: readonly string[];
}

/** One way of one choice. */
const wayKey = ({ path, node }: Pick<Choice, 'path' | 'node'>, way: string): string =>
  `${path} ${node.column} ${node.kind} ${way}`;

/** Ways that choices of kernel.json's expressions come out where a launch is planned. Only those that sizes decide. */
export function choicesIn({ candidate, planFor }: Request, planned: Planned): Map<string, Choice> {
  const isFixed = fixedIn(candidate);
  const found = new Map<string, Choice>();
  const observe = ({ place, node, way }: ObservedChoice): void => {
    const path = place?.path;
    if (path === undefined || !/^(?:steps|workspaces)\b/.test(path) || hasOnly(node, isFixed)) return;
    const choice = { path, node, ways: waysOf(node) };
    found.set(wayKey(choice, way), choice);
  };
  observingChoices(observe, () => functionsIn(() => planFor(planned.dimensions, planned.multiprocessors)));
  return found;
}

/** Whether a name is a parameter or of the GPU or the dtype, and no size. */
const fixedIn =
  ({ kernel }: Request['candidate']) =>
  (name: string): boolean =>
    name.includes('.') || Object.hasOwn(kernel.file.parameters ?? {}, name);

const hasOnly = (node: ExpressionNode, is: (name: string) => boolean): boolean =>
  node.kind === 'name' ? is(node.name) : childrenOf(node).every((child) => hasOnly(child, is));

/** A guard against nothing, `max(1, …)`, chooses its number only where there is nothing to do. */
const isGuard = (node: ExpressionNode, { kind, value }: { kind: string; value?: number }): boolean =>
  node.kind === 'call' && node.functionName === 'max' && kind === 'number' && value! <= 1;

const waysOf = (node: ExpressionNode): string[] =>
  node.kind === 'call'
    ? node.arguments.flatMap((argument, index) => (isGuard(node, argument) ? [] : [String(index)]))
    : ['true', 'false'];

/** A shape that ran with several generator sets is planned once. */
const distinct = (planned: readonly Planned[]): Planned[] => [
  ...new Map(planned.map((one) => [`${valuesKey(one.dimensions)} ${one.multiprocessors}`, one])).values(),
];

/** Ways in which no choice came out where these shapes were planned, by their keys. */
function openWays(
  request: Request,
  planned: readonly Planned[],
): Map<string, { readonly choice: Choice; readonly way: string }> {
  const seen = new Map<string, Choice>();
  for (const one of distinct(planned)) for (const [key, choice] of choicesIn(request, one)) seen.set(key, choice);
  const all = [...seen.values()].flatMap((choice) =>
    choice.ways.map((way) => [wayKey(choice, way), { choice, way }] as const),
  );
  return new Map(all.filter(([key]) => !seen.has(key)));
}

/** One way in which a choice came out in no shape, although the kernel takes others. */
interface OpenChoice {
  readonly key: string;
  readonly choice: Choice;
  readonly way: string;
}

/** What parameters and listed dimensions alone decide counts only if the kernel takes a shape in which it comes out otherwise. */
function openChoices(
  request: Request,
  planned: readonly Planned[],
  takes: (shape: Dimensions) => boolean,
): OpenChoice[] {
  const { candidate, problem } = request;
  const isFixed = fixedIn(candidate);
  const isOfListed = (name: string): boolean => isFixed(name) || problem.file.dimensions[name]?.values !== undefined;
  const open = [...openWays(request, planned)].map(([key, one]) => ({ key, ...one }));
  if (open.length === 0) return [];
  const listed = variantsOf(problem.file, planned, takes);
  const possible = new Set(listed.flatMap((shape) => [...choicesIn(request, { dimensions: shape }).keys()]));
  return open
    .filter(
      ({ choice: { node }, way }) => node.kind === 'call' || canBe(way === 'true', textOf(node), candidate.parameters),
    )
    .filter(({ choice, key }) => !hasOnly(choice.node, isOfListed) || possible.has(key));
}

/**
 * Choices of kernel.json's expressions that came out one way in all of these shapes, although the kernel takes others: `min(N, 4096)` that was
 * never 4096.
 */
export const oneWayChoices = (
  request: Request,
  planned: readonly Planned[],
  takes: (shape: Dimensions) => boolean,
): LaunchChoice[] =>
  openChoices(request, planned, takes).map(({ choice: { path, node }, way }) => ({
    ...{ path, text: textOf(node), never: outcomeOf(node, way) },
  }));

/** How many shapes are planned in search of a choice that comes out otherwise: every second, third and so on of more. */
const MOST_PLANNED = 1500;

/** Of some shapes, the first in which choices come out as they have in none of those that ran. The shapes are asked for only if there are such choices. */
export function shapesForChoices(
  request: Request,
  planned: readonly Planned[],
  { takes, pool }: { takes: (shape: Dimensions) => boolean; pool: () => readonly Dimensions[] },
): Dimensions[] {
  const open = new Set(openChoices(request, planned, takes).map(({ key }) => key));
  const found: Dimensions[] = [];
  const all = open.size === 0 ? [] : pool();
  const step = Math.ceil(all.length / MOST_PLANNED);
  for (const dimensions of all.filter((_, i) => i % step === 0)) {
    const keys = [...choicesIn(request, { dimensions }).keys()].filter((key) => open.has(key));
    if (keys.length === 0) continue;
    found.push(dimensions);
    for (const key of keys) open.delete(key);
    if (open.size === 0) break;
  }
  return found;
}

/** Numbers of multiprocessors that are tried, the least with which a choice comes out otherwise. */
const FEWER = [1, 2, 4, 8] as const;

/**
 * Choices that come out otherwise on a GPU with fewer multiprocessors: `min(device.smCount * 4, tiles)` is the first only where there are very many
 * tiles, or few multiprocessors. The smallest of these shapes for each.
 */
export function withFewerMultiprocessors(
  request: Request,
  planned: readonly Planned[],
  isCheap: (shape: Dimensions) => boolean,
): Required<Planned>[] {
  if (!JSON.stringify(request.candidate.kernel.file.steps).includes('device.smCount')) return [];
  const open = openWays(request, planned);
  const small = distinctValues(planned.map(({ dimensions }) => dimensions))
    .filter(isCheap)
    .sort((a, b) => volumeOf(a) - volumeOf(b));
  const found: Required<Planned>[] = [];
  for (const dimensions of open.size === 0 ? [] : small)
    for (const multiprocessors of FEWER) {
      const keys = [...choicesIn(request, { dimensions, multiprocessors }).keys()].filter((key) => open.has(key));
      const isPlanned = (): boolean => functionsIn(() => request.planFor(dimensions, multiprocessors)).length > 0;
      if (keys.length === 0 || !isPlanned()) continue;
      found.push({ dimensions, multiprocessors });
      for (const key of keys) open.delete(key);
    }
  return found;
}

const outcomeOf = (node: ExpressionNode, way: string): string =>
  node.kind === 'call' ? textOf(node.arguments[Number(way)]!) : way;

/** A part may be reached at some sizes only. */
const OF_EACH_COMBINATION = 8;

/** These shapes with every combination of listed values that the kernel takes, a few for each. */
const variantsOf = (
  problem: ProblemFile,
  planned: readonly Planned[],
  takes: (shape: Dimensions) => boolean,
): Dimensions[] =>
  withListed(problem, listedNames(problem)).flatMap((listed) =>
    firstFitting(
      planned.map((one) => ({ ...one.dimensions, ...listed })),
      takes,
      OF_EACH_COMBINATION,
    ),
  );
