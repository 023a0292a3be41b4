import { WarpsmithError } from '../../core/errors.ts';
import { type Amount, combineAmounts, constant, printAmount, root } from '../../cuda-source/amounts.ts';
import type { HostFacts, LaunchRecord, Memory, Value } from '../../cuda-source/host-values.ts';
import type { Item } from '../../cuda-source/items.ts';
import { parseExpression } from '../../cuda-source/parser.ts';
import { type CudaSource, isKernel, qualifiedName } from '../../cuda-source/source.ts';
import type { TemplateArgument } from '../../cuda-source/syntax.ts';
import { tokenize } from '../../cuda-source/tokens.ts';
import { Missing } from './missing.ts';
import type { InitOptions } from './options.ts';

/** A launch with the kernel that it launches. */
export interface KernelLaunch {
  readonly kernel: Item;
  /** As kernel.json names it, with its template arguments. */
  readonly functionName: string;
  readonly launch: LaunchRecord;
}

/**
 * The launches that a user means: those of the named kernels, else all that the host code makes. The same launch twice, as a
 * warm-up or in a timing loop, is one.
 *
 * @throws WarpsmithError `no-kernel`, `no-such-kernel`; Missing if a kernel is launched nowhere in the file.
 */
export function chooseLaunches(source: CudaSource, facts: HostFacts, options: InitOptions): KernelLaunch[] {
  const kernels = source.items.filter((item) => isKernel(item) && item.function?.body !== undefined);
  if (kernels.length === 0) throw noKernel(source);
  const wanted = options.kernels.map((name) => namedKernel(kernels, name, source));
  const launched = facts.events.flatMap((event) => (event.kind === 'launch' ? [event.launch] : []));
  const known = launched.flatMap((launch) => {
    const kernel = kernels.find((item) => isNamed(item, launch.function));
    return kernel ? [{ kernel, launch, functionName: functionName(kernel, launch.templateArguments, facts) }] : [];
  });
  const chosen = wanted.length === 0 ? known : wanted.flatMap((kernel) => launchesOf(kernel, known, source));
  if (chosen.length === 0) return launchesOf(onlyKernel(kernels, source), known, source);
  const seen = new Set<string>();
  return chosen.filter((launch) => {
    const key = launchKey(launch);
    return !seen.has(key) && seen.add(key);
  });
}

const localName = (name: string): string => name.split('::').at(-1)!;

/** `reduce` may be `ns::reduce` in the file, and the other way round within a namespace. */
const isNamed = (item: Item, name: string): boolean =>
  item.name === localName(name) && (name.includes('::') ? qualifiedName(item).endsWith(name.replace(/^::/, '')) : true);

function namedKernel(kernels: readonly Item[], name: string, { file }: CudaSource): Item {
  const found = kernels.find((item) => isNamed(item, name));
  if (found) return found;
  throw new WarpsmithError({
    code: 'no-such-kernel',
    message: `${file} defines no kernel ${name}.`,
    file,
    path: '--kernel',
    received: name,
    expected: `one of ${kernels.map(qualifiedName).join(', ')}`,
    hint: 'Names are those behind __global__.',
  });
}

/** A kernel that is launched nowhere is described by options alone: its arguments go by its parameters' names. */
function launchesOf(kernel: Item, known: readonly KernelLaunch[], source: CudaSource): KernelLaunch[] {
  const own = known.filter((launch) => launch.kernel === kernel);
  if (own.length > 0) return own;
  if (kernel.isTemplate) throw notInstantiated(kernel, source);
  const line = kernel.tokens[0]!.line;
  const unknown: Value = { kind: 'unknown', text: 'launched nowhere in the file' };
  const launch: LaunchRecord = {
    function: kernel.name,
    templateArguments: [],
    grid: unknown,
    block: unknown,
    sharedBytes: { kind: 'amount', amount: constant(0) },
    arguments: kernel.function!.parameters.map(({ name, type }): Value => {
      if (type.pointers === 0) return { kind: 'unknown', text: name };
      const memory: Memory = { name, space: 'device', elementType: type.base, bytes: undefined };
      return { kind: 'pointer', memory, offset: constant(0) };
    }),
    line,
    isInLoop: false,
  };
  return [{ kernel, launch, functionName: qualifiedName(kernel) }];
}

function onlyKernel(kernels: readonly Item[], { file }: CudaSource): Item {
  if (kernels.length === 1) return kernels[0]!;
  throw new Missing(
    {
      option: 'kernel',
      subject: kernels[0]!.name,
      message: `${file} defines ${kernels.length} kernels and launches none that this reader found.`,
      received: kernels.map(qualifiedName).join(', '),
      expected: 'which of them to take',
    },
    file,
  );
}

/** Template arguments as the compiler is to see them: numbers instead of the host's names. */
function functionName(kernel: Item, args: readonly TemplateArgument[], { sizes }: HostFacts): string {
  const name = qualifiedName(kernel);
  if (args.length === 0) return name;
  const texts = args.map(({ value, text }) => {
    if (value?.kind === 'number') return value.text;
    const known = value?.kind === 'name' ? sizes.get(value.name)?.value : undefined;
    return known === undefined ? text : String(known);
  });
  return `${name}<${texts.join(', ')}>`;
}

function launchKey({ functionName: name, launch }: KernelLaunch): string {
  const memories: Memory[] = [];
  const texts = [launch.grid, launch.block, launch.sharedBytes, ...launch.arguments].map((value) => {
    if (value.kind === 'amount') return printAmount(value.amount);
    if (value.kind === 'triple') return value.parts.map((part) => printAmount(part)).join(',');
    if (value.kind !== 'pointer') return value.kind;
    if (!memories.includes(value.memory)) memories.push(value.memory);
    return `${identityOf(value.memory)}+${printAmount(value.offset)}`;
  });
  return [name, ...texts].join(';');
}

const identities = new WeakMap<Memory, number>();
let nextIdentity = 0;

function identityOf(memory: Memory): number {
  const known = identities.get(memory) ?? nextIdentity++;
  identities.set(memory, known);
  return known;
}

/** An expression of C that a user gives, such as `M * K`; names stay names. */
export function readAmount(text: string, option: string): Amount {
  const expression = parseExpression(tokenize(text, option));
  const amount = expression && amountOfExpression(expression);
  if (amount) return amount;
  throw new WarpsmithError({
    code: 'bad-option-value',
    message: `${option} can't be "${text}".`,
    path: option,
    received: text,
    expected: 'a number or an expression of sizes, such as ceilDiv(N, 256)',
    hint: `For example ${option} "ceilDiv(N, 256)"`,
  });
}

function amountOfExpression(node: NonNullable<ReturnType<typeof parseExpression>>): Amount | undefined {
  if (node.kind === 'number') return constant(node.value);
  if (node.kind === 'name') return root(node.name);
  if (node.kind === 'binary') return combined(node.operator, [node.left, node.right]);
  if (node.kind === 'call' && node.callee.kind === 'name') return combined(node.callee.name, node.arguments);
  return undefined;
}

const GIVEN_OPERATORS = new Set(['+', '-', '*', '/', '%', '<<', '>>', 'ceilDiv', 'min', 'max', 'floor', 'ceil']);

function combined(
  operator: string,
  operands: readonly NonNullable<ReturnType<typeof parseExpression>>[],
): Amount | undefined {
  if (!GIVEN_OPERATORS.has(operator)) return undefined;
  const amounts = operands.map(amountOfExpression);
  return amounts.includes(undefined) ? undefined : combineAmounts(operator as '+', ...(amounts as Amount[]));
}

const noKernel = ({ file }: CudaSource): WarpsmithError =>
  new WarpsmithError({
    code: 'no-kernel',
    message: `${file} defines no kernel.`,
    file,
    received: 'no __global__ function with a body',
    expected: 'a CUDA C++ file with at least one',
    hint: 'A header with the kernels is read, too, if it lies beside the file and is included by "name".',
  });

const notInstantiated = (kernel: Item, { file }: CudaSource): WarpsmithError =>
  new WarpsmithError({
    code: 'template-not-launched',
    message: `${kernel.name} is a template that the file launches nowhere with arguments that this reader can tell.`,
    file,
    path: `line ${kernel.tokens[0]!.line}`,
    received: `template <${kernel.templateParameters.join(', ')}>`,
    expected: `a launch such as ${kernel.name}<…><<<grid, block>>>(…)`,
    hint: 'Add one to the file (it is only read), or write its arguments out in a kernel without template.',
  });
