import { WarpsmithError } from '../../../core/errors.ts';
import { type Amount, rootsOf } from '../../../cuda-source/amounts.ts';
import type { HostFacts } from '../../../cuda-source/host-values.ts';
import { readCudaSource } from '../../../cuda-source/source.ts';
import { type CompiledLaunch, type Draft, type DraftStep, isNumber, templateNames } from '../draft.ts';
import { type DeviceConstant, deviceConstants, namesThatShape } from './constants.ts';

/** A number of the file that a kernel folder has as a parameter. */
export interface Parameter {
  readonly name: string;
  /** What amounts of the host code call it. */
  readonly root: string;
  /** As the file has it. */
  readonly value: number;
  readonly values: readonly number[];
  /** Its definition in the device code, which goes, or has the parameter in place of the number. */
  readonly constant?: DeviceConstant | undefined;
  /** A template argument that the launch has as a plain number. */
  readonly isLiteral: boolean;
  /** Whether the user asked for it. */
  readonly isGiven: boolean;
}

export interface Kernels {
  readonly facts: HostFacts;
  readonly draft: Draft;
  readonly group: readonly CompiledLaunch[];
  /** Of the group, with the names of the host code. */
  readonly steps: readonly DraftStep[];
  readonly text: string;
  readonly file: string;
}

/** A parameter that the user asked for; without values, powers of two around the written one. */
export interface Wanted {
  readonly name: string;
  readonly values?: readonly number[];
}

const NONE = 'none';
/** More would make a space that no search gets through, and a long list to read. */
const MOST = 8;

/** @throws WarpsmithError `bad-option-value`. */
export function readWanted(texts: readonly string[] | undefined): readonly Wanted[] | undefined {
  if (texts === undefined || texts.length === 0) return undefined;
  if (texts.length === 1 && texts[0]!.trim() === NONE) return [];
  return texts.map((text) => {
    const [, name, list] = /^\s*([A-Za-z_]\w*)\s*(?:=\s*(\d+(?:\s*,\s*\d+)*)\s*)?$/.exec(text) ?? [];
    if (name === undefined) throw badParameter(text);
    if (list === undefined) return { name };
    const values = [...new Set(list.split(',').map(Number))].toSorted((a, b) => a - b);
    if (values[0]! < 1) throw badParameter(text);
    return { name, values };
  });
}

const badParameter = (text: string): WarpsmithError =>
  new WarpsmithError({
    code: 'bad-option-value',
    message: `--parameter can't be "${text}".`,
    path: '--parameter',
    received: text,
    expected: `NAME, NAME=16,32,64 with positive whole numbers, or ${NONE}`,
    hint: 'For example --parameter TILE=16,32',
  });

/** Numbers that could be parameters of these kernels, with whether they are offered without being asked for. */
export function findParameters(kernels: Kernels, wanted: readonly Wanted[] | undefined): Parameter[] {
  const found = candidatesIn(kernels);
  if (wanted === undefined)
    return found
      .filter(({ isOffered }) => isOffered)
      .slice(0, MOST)
      .map(declared);
  return wanted.flatMap(({ name, values }) => {
    const candidate = found.find((one) => one.name === name || one.root === name);
    if (candidate === undefined) return [];
    const own = declared(candidate);
    const all = values ? [...new Set([...values, own.value])].toSorted((a, b) => a - b) : own.values;
    return [{ ...own, values: all, isGiven: true }];
  });
}

/**
 * Refuses a name that no kernel has.
 *
 * @throws WarpsmithError `no-such-parameter`.
 */
export function refuseUnknown(
  wanted: readonly Wanted[],
  rungs: readonly Kernels[],
  { sizing, dimensions }: Draft,
): void {
  const found = rungs.flatMap(candidatesIn);
  const known = new Set(found.map(({ name }) => name));
  const unknown = wanted.find(({ name }) => !found.some((one) => one.name === name || one.root === name));
  if (unknown === undefined) return;
  const { name } = unknown;
  const isSize = sizing.has(name) || dimensions.some((one) => one.name === name);
  throw new WarpsmithError({
    code: 'no-such-parameter',
    message: isSize
      ? `${name} can't be a parameter: sizes of inputs or outputs follow from it.`
      : `${name} is no number of the kernels or their launches.`,
    file: rungs[0]!.file,
    path: '--parameter',
    received: name,
    expected:
      known.size > 0 ? `one of ${[...known].join(', ')}` : 'nothing: no kernel has a constant that could be one',
    hint: 'A #define, constexpr or const of the device code, a variable that launches are made of, or a template argument; each a positive whole number.',
  });
}

interface FoundNumber extends Omit<Parameter, 'values' | 'isGiven'> {
  readonly isOffered: boolean;
}

const declared = ({ isOffered: _, ...found }: FoundNumber): Parameter => ({
  ...found,
  values: powersAround(found.value),
  isGiven: false,
});

/** The value, and powers of two from a quarter to four times of it. */
function powersAround(value: number): number[] {
  const powers = Array.from({ length: 21 }, (_, i) => 2 ** i);
  return [...new Set([...powers.filter((one) => one >= value / 4 && one <= value * 4), value])].toSorted(
    (a, b) => a - b,
  );
}

function candidatesIn(kernels: Kernels): FoundNumber[] {
  const { facts, draft, group, steps, text, file } = kernels;
  const source = readCudaSource(text, file);
  const constants = deviceConstants(source);
  const shaping = namesThatShape(source);
  const dimensions = new Set(draft.dimensions.map(({ name }) => name));
  const inLaunches = new Set(
    steps.flatMap(({ grid, block, sharedBytes }) => [...grid, ...block, sharedBytes].flatMap((one) => rootsOf(one))),
  );
  const roots = new Set([...inLaunches, ...templateNames(group), ...constants.keys()]);
  const named = [...roots].flatMap((name): FoundNumber[] => {
    const known = facts.sizes.get(name);
    const constant = constants.get(name);
    const value = constant?.value ?? known?.value;
    const isWhole = value !== undefined && Number.isSafeInteger(value) && value >= 1 && !known?.isFloating;
    const isTaken = dimensions.has(name) || draft.sizing.has(name) || name.includes('.');
    // Another definition of the name, which can't be cut.
    const isElse = constant === undefined && (source.macros.has(name) || isVariable(source.items, name));
    if (!isWhole || isTaken || isElse || (constant && known && known.value !== constant.value)) return [];
    const isOffered = inLaunches.has(name) || shaping.has(name) || shapesAsTemplate(group, name, shaping);
    return [{ name: macroName(name, roots), root: name, value, constant, isLiteral: false, isOffered }];
  });
  const taken = new Set([...named.map(({ name }) => name), ...dimensions]);
  return [...named, ...literalsOf(group, steps, shaping).filter(({ name }) => !taken.has(name))];
}

export const isVariable = (
  items: readonly { kind: string; name: string; otherNames: readonly string[] }[],
  name: string,
) => items.some((item) => item.kind === 'variable' && [item.name, ...item.otherNames].includes(name));

const shapesAsTemplate = (group: readonly CompiledLaunch[], root: string, shaping: ReadonlySet<string>): boolean =>
  group.some(({ launch, kernel }) =>
    launch.templateArguments.some(
      ({ value }, i) =>
        value?.kind === 'name' && value.name === root && shaping.has(kernel.templateParameters[i] ?? ''),
    ),
  );

/**
 * A macro reaches into every header, so that parameters are in capitals: `kThreads` is THREADS, `blockSize` BLOCK_SIZE. The second
 * `BM` of a host file is `BM_2` among its sizes.
 */
function macroName(root: string, roots: ReadonlySet<string>): string {
  const short = /^(.*)_\d+$/.exec(root)?.[1];
  const name = short === undefined || roots.has(short) ? root : short;
  return name
    .replace(/^k(?=[A-Z])/, '')
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, '_')
    .toUpperCase();
}

/** `kernel<128, 8>`: numbers by the names of the template's parameters. */
function literalsOf(
  group: readonly CompiledLaunch[],
  steps: readonly DraftStep[],
  shaping: ReadonlySet<string>,
): FoundNumber[] {
  const found = group.flatMap(({ launch, kernel }, at) =>
    launch.templateArguments.flatMap(({ value }, i): FoundNumber[] => {
      const name = kernel.templateParameters[i];
      if (value?.kind !== 'number' || name === undefined || !Number.isSafeInteger(value.value) || value.value < 1)
        return [];
      const { grid, block } = steps[at]!;
      const isOffered = shaping.has(name) || [...grid, ...block].some((extent) => holdsNumber(extent, value.value));
      return [{ name: macroName(name, new Set()), root: name, value: value.value, isLiteral: true, isOffered }];
    }),
  );
  // One name with two values is no one parameter.
  return found.filter(
    ({ name, value }, i) =>
      found.every((other) => other.name !== name || other.value === value) &&
      found.findIndex((one) => one.name === name) === i,
  );
}

const holdsNumber = (amount: Amount, value: number): boolean =>
  isNumber(amount, value) || (amount.kind === 'operation' && amount.operands.some((one) => holdsNumber(one, value)));
