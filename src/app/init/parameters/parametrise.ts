import {
  type Amount,
  combineAmounts,
  constant,
  dividedExactly,
  printAmount,
  replaceRoots,
  root,
  rootsOf,
} from '../../../cuda-source/amounts.ts';
import { withoutItems } from '../../../cuda-source/cut.ts';
import type { Item } from '../../../cuda-source/items.ts';
import { behindBracket, parseExpression, splitAtCommas } from '../../../cuda-source/parser.ts';
import { readCudaSource } from '../../../cuda-source/source.ts';
import type { Expression } from '../../../cuda-source/syntax.ts';
import { type DraftArgument, type DraftBuffer, type DraftStep, isNumber } from '../draft.ts';
import { definedName, identifiersIn } from './constants.ts';
import type { Kernels, Parameter } from './find-parameters.ts';

/** The kernels of a rung in terms of their parameters. */
export interface Parametrised {
  readonly parameters: readonly Parameter[];
  readonly steps: readonly DraftStep[];
  readonly workspaces: ReadonlyMap<DraftBuffer, readonly Amount[]>;
  readonly text: string;
  /** Which settings can be launched at all. */
  readonly constraints: readonly Amount[];
}

/** Threads of a CTA on every GPU (CUDA C++ Programming Guide, compute capabilities). */
const MOST_THREADS = 1024;

/** Writes parameters into launches and cuts their definitions from the device code. */
export function parametrise(kernels: Kernels, parameters: readonly Parameter[]): Parametrised {
  const { draft, group, facts } = kernels;
  const dimensions = new Set(draft.dimensions.map(({ name }) => name));
  const byRoot = new Map(parameters.map((one) => [one.root, one] as const));
  const settle = (amount: Amount): Amount =>
    replaceRoots(amount, (name) => {
      const parameter = byRoot.get(name);
      if (parameter) return root(parameter.name);
      if (dimensions.has(name) || name.includes('.')) return undefined;
      const known = facts.sizes.get(name);
      return known?.value === undefined ? undefined : constant(known.value, known.isFloating);
    });
  const literals = parameters.filter(({ isLiteral }) => isLiteral);
  const steps = kernels.steps.map((step, i) => {
    const own = literals.filter((one) => group[i]!.kernel.templateParameters.includes(one.root));
    return settledStep(step, settle, own, functionNameOf(group[i]!, byRoot));
  });
  const workspaces = new Map(
    [...draft.open.shapes].map(
      ([buffer, shape]) => [buffer, shape.map((extent) => withLiterals(settle(extent), literals))] as const,
    ),
  );
  const names = new Set(parameters.map(({ name }) => name));
  const constraints = [
    ...steps.flatMap((step) => launchConstraints(step, names)),
    ...steps.flatMap((step, i) => assertionsOf(kernels, i, step, byRoot)),
  ];
  const once = new Map(constraints.map((one) => [printAmount(one), one] as const));
  return { parameters, steps, workspaces, text: deviceText(kernels, parameters), constraints: [...once.values()] };
}

/** Template arguments with the names of parameters in place of their numbers. */
function functionNameOf(
  { functionName, launch, kernel }: Kernels['group'][number],
  byRoot: ReadonlyMap<string, Parameter>,
): string {
  const [, name, list] = /^([^<]+)<(.*)>$/.exec(functionName) ?? [];
  if (name === undefined || list === undefined) return functionName;
  const texts = list.split(', ');
  if (texts.length !== launch.templateArguments.length) return functionName;
  const named = launch.templateArguments.map(({ value }, i) => {
    const literal = value?.kind === 'number' ? byRoot.get(kernel.templateParameters[i] ?? '') : undefined;
    const parameter = value?.kind === 'name' ? byRoot.get(value.name) : literal?.isLiteral ? literal : undefined;
    return parameter?.name ?? texts[i]!;
  });
  return `${name}<${named.join(', ')}>`;
}

function settledStep(
  step: DraftStep,
  settle: (amount: Amount) => Amount,
  literals: readonly Parameter[],
  functionName: string,
): DraftStep {
  const named = (amount: Amount): Amount => withLiterals(settle(amount), literals);
  const { sharedBytes } = step;
  return {
    functionName,
    grid: step.grid.map(named),
    block: step.block.map((extent) => named(literals.reduce(squareIn, extent))),
    sharedBytes: literals.reduce(sharedIn, settle(sharedBytes)),
    arguments: step.arguments.map((argument) => settledArgument(argument, named)),
  };
}

const withLiterals = (amount: Amount, literals: readonly Parameter[]): Amount =>
  literals.reduce((all, { name, value }) => withNumberAs(all, value, root(name)), amount);

/** Where the launch of `kernel<256>` has 256, it means the same 256; what verifies shows whether it does. */
function withNumberAs(amount: Amount, value: number, by: Amount): Amount {
  if (isNumber(amount, value)) return by;
  if (amount.kind !== 'operation') return amount;
  return combineAmounts(amount.operator, ...amount.operands.map((operand) => withNumberAs(operand, value, by)));
}

/** `kernel<32><<<grid, 32 * 32>>>` */
const squareIn = (amount: Amount, { name, value }: Parameter): Amount =>
  value >= 8 && isNumber(amount, value ** 2) ? combineAmounts('*', root(name), root(name)) : amount;

function sharedIn(amount: Amount, { name, value }: Parameter): Amount {
  const factor = value >= 32 ? dividedExactly(amount, value) : undefined;
  return factor?.kind === 'constant' && factor.value > 0 ? combineAmounts('*', factor, root(name)) : amount;
}

function settledArgument(argument: DraftArgument, settle: (amount: Amount) => Amount): DraftArgument {
  if (argument.kind === 'buffer') return { ...argument, offset: settle(argument.offset) };
  return argument.kind === 'scalar' ? { ...argument, value: settle(argument.value) } : argument;
}

function isOf(amount: Amount, names: ReadonlySet<string>): boolean {
  const roots = rootsOf(amount);
  return roots.length > 0 && roots.every((name) => names.has(name));
}

/** At most 1,024 threads, and no division with a remainder in what a launch is made of. */
function launchConstraints({ grid, block, sharedBytes }: DraftStep, names: ReadonlySet<string>): Amount[] {
  const threads = block.reduce((all, extent) => combineAmounts('*', all, extent), constant(1));
  const room = isOf(threads, names) ? [combineAmounts('<=', threads, constant(MOST_THREADS))] : [];
  return [...room, ...[...grid, ...block, sharedBytes].flatMap((amount) => wholeDivisions(amount, names))];
}

function wholeDivisions(amount: Amount, names: ReadonlySet<string>): Amount[] {
  if (amount.kind !== 'operation') return [];
  const [whole, part] = amount.operands;
  const isDivision = amount.operator === '//' && isOf(amount, names);
  const own = isDivision ? [combineAmounts('==', combineAmounts('%', whole!, part!), constant(0))] : [];
  return [...own, ...amount.operands.flatMap((operand) => wholeDivisions(operand, names))];
}

/** What `assert` and `static_assert` of a kernel say about parameters and the block. */
function assertionsOf(kernels: Kernels, at: number, step: DraftStep, byRoot: ReadonlyMap<string, Parameter>): Amount[] {
  const { kernel, launch } = kernels.group[at]!;
  const body = kernel.function?.body ?? [];
  const ofTemplate = new Map(
    kernel.templateParameters.flatMap((name, i) => {
      const value = launch.templateArguments[i]?.value;
      const parameter = byRoot.get(value?.kind === 'name' ? value.name : name);
      if (parameter) return [[name, root(parameter.name)] as const];
      return value?.kind === 'number' ? [[name, constant(value.value)] as const] : [];
    }),
  );
  const names = new Set([...byRoot.values()].map(({ name }) => name));
  const meaning = (name: string): Amount | undefined => {
    const parameter = byRoot.get(name);
    const macro = ofTemplate.has(name) || parameter ? undefined : readMacro(kernels, name);
    return ofTemplate.get(name) ?? (parameter ? root(parameter.name) : macro && amountOf(macro, meaning, step));
  };
  return body.flatMap(({ text }, i) => {
    if (!/^(?:static_)?assert$/.test(text) || body[i + 1]?.text !== '(') return [];
    const [condition] = splitAtCommas(body.slice(i + 2, behindBracket(body, i + 1) - 1));
    const expression = condition && parseExpression(condition);
    const amount = expression && amountOf(expression, meaning, step);
    return amount && isOf(amount, names) ? [amount] : [];
  });
}

function readMacro({ text, file }: Kernels, name: string): Expression | undefined {
  const macro = readCudaSource(text, file).macros.get(name);
  return macro?.parameters === undefined ? macro?.expression : undefined;
}

const ASSERTED = new Set(['+', '-', '*', '/', '%', '<', '<=', '>', '>=', '==', '!=', '&&', '||']);

function amountOf(
  node: Expression,
  meaning: (name: string) => Amount | undefined,
  step: DraftStep,
): Amount | undefined {
  if (node.kind === 'number') return constant(node.value);
  if (node.kind === 'name') return meaning(node.name);
  if (node.kind === 'member' && node.object.kind === 'name' && node.object.name === 'blockDim') {
    const axis = ['x', 'y', 'z'].indexOf(node.name);
    return axis < 0 ? undefined : (step.block[axis] ?? constant(1));
  }
  if (node.kind !== 'binary' || !ASSERTED.has(node.operator)) return undefined;
  const [left, right] = [amountOf(node.left, meaning, step), amountOf(node.right, meaning, step)];
  return left && right && combineAmounts(node.operator as '+', left, right);
}

/**
 * Device code without the definitions of parameters, which become macros of kernel.json; `const int tile = 16;` becomes
 * `const int tile = TILE;`. Where the code uses a parameter's name for something else, as templates do for theirs, the macro is set
 * aside until its end.
 */
function deviceText({ text, file }: Kernels, parameters: readonly Parameter[]): string {
  const defined = parameters.flatMap(({ name, constant: own }) => (own ? [{ name, own }] : []));
  const renamed = defined.filter(({ name, own }) => own.name !== name);
  const edited = renamed
    .toSorted((a, b) => b.own.number.start - a.own.number.start)
    .reduce((code, { name, own: { number } }) => code.slice(0, number.start) + name + code.slice(number.end), text);
  const source = readCudaSource(edited, file);
  const cut = new Set(defined.flatMap(({ name, own }) => (own.name === name ? [name] : [])));
  const isCut = (item: Item): boolean => cut.has(definedName(item) ?? '');
  const rest = withoutItems(source, new Set(source.items.filter(isCut)));
  const used = identifiersIn(rest, file);
  const clashes = parameters.filter(({ name, constant: own }) => own === undefined && used.has(name));
  if (clashes.length === 0) return rest;
  const aside = clashes.map(({ name }) => `#pragma push_macro("${name}")\n#undef ${name}\n`);
  const back = clashes.map(({ name }) => `#pragma pop_macro("${name}")\n`);
  return [
    '// What follows uses these names for something else than the parameters of kernel.json.\n',
    ...aside,
    `\n${rest}\n`,
    ...back,
  ].join('');
}
