import { only } from '../../core/values.ts';
import { type Amount, constant, printAmount, replaceRoots, root, rootsOf } from '../../cuda-source/amounts.ts';
import type { HostFacts, Memory, Value } from '../../cuda-source/host-values.ts';
import type { Item } from '../../cuda-source/items.ts';
import { type CudaSource, isKernel, statementsOf } from '../../cuda-source/source.ts';
import { everyPart, expressionsIn } from '../../cuda-source/syntax.ts';
import { scriptName, type Translation, translateFunction } from '../../cuda-source/translate.ts';
import { dtypeOf } from '../../cuda-source/types.ts';
import { type Draft, type DraftBuffer, describeBuffer, elementsOf, isInput, isNumber, isResult } from './draft.ts';
import type { KernelLaunch } from './launches.ts';
import type { InitOptions } from './options.ts';
import { isVariable } from './parameters/find-parameters.ts';

/** reference.ts, and what the file's own function says about the work. */
export interface DraftReference {
  readonly text: string;
  /** The C function that it was translated from; absent for a stub. */
  readonly from?: string;
  readonly flop?: Amount;
  readonly terms?: Amount;
  /** Whether it is of functions such as `tanh`, without a sum. */
  readonly isElementwiseFunction?: boolean;
  /** Whether it only moves values. */
  readonly isCopy?: boolean;
  /** Inputs of which every element is read. */
  readonly wholeInputs: readonly DraftBuffer[];
  /** Why a function was not taken, one line each. */
  readonly refused: readonly string[];
}

/**
 * A reference from the file's own CPU function, in float64; a stub that says what to write if there is none that can be
 * translated.
 */
export function draftReference(
  source: CudaSource,
  facts: HostFacts,
  draft: Draft,
  options: InitOptions,
  launches: readonly KernelLaunch[],
): DraftReference {
  const refused: string[] = [];
  if (options.reference !== 'stub') {
    for (const candidate of candidatesIn(source, facts)) {
      const found = new Binding(source, facts, draft, options, launches).bind(candidate);
      if (typeof found !== 'string') return { ...found, refused };
      refused.push(`${candidate.item.name} (line ${candidate.item.tokens[0]!.line}): ${found}`);
    }
  }
  return { text: stubText(source, draft, refused), wholeInputs: [], refused };
}

interface Candidate {
  readonly item: Item;
  /** What the host code passes; undefined if it never calls it. */
  readonly values: readonly Value[] | undefined;
}

const LIKELY = /cpu|host|ref|gold|serial|naive|expect|truth|baseline|seq/i;
const UNLIKELY = /init|rand|fill|print|check|compare|verify|alloc|error|diff|time|load|save|equal|close|test|valid/i;

/** Host functions over arrays, likely ones first: called ones, then those that are named as references are. */
function candidatesIn(source: CudaSource, facts: HostFacts): Candidate[] {
  const items = [...source.functions.values()].flat().filter((item) => !isKernel(item) && item.name !== 'main');
  const ofHost = items.filter(({ words }) => !words.has('__device__') || words.has('__host__'));
  const overArrays = ofHost.filter(({ function: parts }) =>
    parts!.parameters.some(({ type }) => type.pointers > 0 || /vector$/.test(type.base)),
  );
  const usable = overArrays.filter((item) => !usesDevice(item) && !UNLIKELY.test(item.name.replace(LIKELY, '')));
  return usable.map((item) => ({ item, values: callOf(item, facts) })).sort((a, b) => rank(b) - rank(a));
}

const rank = ({ item, values }: Candidate): number => (values ? 2 : 0) + (LIKELY.test(item.name) ? 1 : 0);

function callOf(item: Item, { events }: HostFacts): readonly Value[] | undefined {
  for (const event of events) if (event.kind === 'host-call' && event.function === item.name) return event.arguments;
  return undefined;
}

const usesDevice = (item: Item): boolean =>
  statementsOf(item)
    .flatMap((statement) => [...expressionsIn(statement)])
    .flatMap((expression) => [...everyPart(expression)])
    .some((part) => part.kind === 'launch' || (part.kind === 'name' && /^cuda[A-Z]/.test(part.name)));

/** One argument of the translated function. */
interface Bound {
  readonly text: string;
  readonly amount?: Amount | undefined;
  readonly buffer?: DraftBuffer | undefined;
}

class Binding {
  readonly #source: CudaSource;
  readonly #facts: HostFacts;
  readonly #draft: Draft;
  readonly #options: InitOptions;
  readonly #launches: readonly KernelLaunch[];

  constructor(
    source: CudaSource,
    facts: HostFacts,
    draft: Draft,
    options: InitOptions,
    launches: readonly KernelLaunch[],
  ) {
    this.#launches = launches;
    this.#source = source;
    this.#facts = facts;
    this.#draft = draft;
    this.#options = options;
  }

  /** The reference, or why it can't be one. */
  bind({ item, values }: Candidate): Omit<DraftReference, 'refused'> | string {
    const dimensions = new Set(this.#draft.dimensions.map(({ name }) => name));
    const numberOf = (name: string): number | undefined => (dimensions.has(name) ? undefined : this.#value(name));
    const translated = translateFunction(this.#source, item, numberOf);
    if ('reason' in translated) return `line ${translated.line} has ${translated.reason}`;
    const bound = this.#arguments(item, values, translated);
    if (typeof bound === 'string') return bound;
    const results = this.#draft.buffers.filter(isResult);
    const written = item.function!.parameters.flatMap(({ name }, i) =>
      translated.arrays.get(name)?.isWritten && bound[i]!.buffer ? [bound[i]!.buffer] : [],
    );
    const missing = results.filter((buffer) => !written.includes(buffer));
    const returnsResult = missing.length === 1 && written.length === 0 && isScalarBuffer(missing[0]!);
    if (missing.length > 0 && !returnsResult) return `it does not write ${missing.map(({ name }) => name).join(', ')}`;
    if (returnsResult && !/\): (?:number|boolean) \{/.test(translated.text.split('\n')[0]!))
      return 'it returns nothing';
    const parameters = item.function!.parameters.map(({ name }) => name);
    const inDimensions = (amount: Amount): Amount | undefined =>
      this.#inDimensions(amount, parameters, bound, dimensions);
    const wholeInputs = parameters.flatMap((name, i) => {
      const { buffer } = bound[i]!;
      const dense = translated.arrays.get(name)?.dense;
      const read = dense && inDimensions(dense);
      return buffer?.role === 'in' && read && this.#isWhole(buffer, read) ? [buffer] : [];
    });
    return {
      text: this.#text(item, translated, bound, results, returnsResult ? missing[0] : undefined),
      from: item.name,
      ...known('flop', inDimensions(translated.flop)),
      isElementwiseFunction: translated.isTranscendental && translated.terms.kind === 'constant',
      isCopy: !translated.isTranscendental && isNumber(translated.flop, 0),
      ...known('terms', inDimensions(translated.terms)),
      wholeInputs,
    };
  }

  #value(name: string): number | undefined {
    const { items, macros } = this.#source;
    return macros.has(name) || isVariable(items, name) ? this.#known(name) : undefined;
  }

  #known(name: string): number | undefined {
    return this.#options.values[name] ?? this.#facts.sizes.get(name)?.value;
  }

  #arguments(item: Item, values: readonly Value[] | undefined, translated: Translation): Bound[] | string {
    const bound: Bound[] = [];
    const used = new Set<DraftBuffer>();
    for (const [i, { name, type }] of item.function!.parameters.entries()) {
      const use = translated.arrays.get(name);
      const one = use
        ? this.#array(name, values?.[i], use.isWritten, used)
        : this.#number(name, values?.[i], dtypeOf(type) !== undefined && /^(?:f|bf)/.test(dtypeOf(type)!));
      if (one === undefined) return `what it gets for ${name} is not known`;
      if (one.buffer) used.add(one.buffer);
      bound.push(one);
    }
    return bound;
  }

  /** The buffer that a host array holds the contents of; for a result, the one that is left. */
  #array(
    name: string,
    value: Value | undefined,
    isWritten: boolean,
    used: ReadonlySet<DraftBuffer>,
  ): Bound | undefined {
    const { buffers } = this.#draft;
    const results = buffers.filter((buffer) => isResult(buffer) && !used.has(buffer));
    const linked = value?.kind === 'pointer' ? this.#linked(value.memory) : undefined;
    const isMeant = linked && (!isWritten || linked.role !== 'in');
    const named = buffers.find(
      (buffer) => !used.has(buffer) && sameName(buffer.name, name) && isWritten === (buffer.role !== 'in'),
    );
    const buffer = isMeant
      ? linked
      : isWritten && value && results.length === 1
        ? results[0]
        : (named ?? (isWritten ? only(results) : undefined));
    return buffer && { text: scriptName(buffer.name), buffer };
  }

  #linked(memory: Memory): DraftBuffer | undefined {
    const { buffers } = this.#draft;
    const direct = buffers.find((buffer) => buffer.memory === memory);
    if (direct) return direct;
    for (const event of this.#facts.events) {
      const isLink =
        ((event.kind === 'upload' || event.kind === 'upload-constant') && event.from === memory) ||
        (event.kind === 'download' && event.to === memory);
      const buffer = isLink ? buffers.find((one) => one.memory === event.memory) : undefined;
      if (buffer) return buffer;
    }
    return undefined;
  }

  #number(name: string, value: Value | undefined, isReal: boolean): Bound | undefined {
    const dimensions = new Set(this.#draft.dimensions.map((one) => one.name));
    const byName = (): Amount | undefined => (dimensions.has(name) ? root(name) : this.#kernelScalar(name));
    const amount = value?.kind === 'amount' ? value.amount : byName();
    if (amount === undefined) return undefined;
    const settled = replaceRoots(amount, (one) => {
      const number = dimensions.has(one) ? undefined : this.#known(one);
      return number === undefined ? undefined : constant(number, isReal);
    });
    if (rootsOf(settled).some((one) => !dimensions.has(one))) return undefined;
    return { text: scriptOf(settled), amount: settled };
  }

  /** What the kernel's parameter of the same name gets; else a number of that name. */
  #kernelScalar(name: string): Amount | undefined {
    for (const { kernel, launch } of this.#launches) {
      const at = kernel.function!.parameters.findIndex((parameter) => parameter.name === name);
      const passed = launch.arguments[at];
      if (passed?.kind === 'amount') return passed.amount;
    }
    const value = this.#known(name);
    return value === undefined ? undefined : constant(value, !Number.isInteger(value));
  }

  #inDimensions(
    amount: Amount,
    parameters: readonly string[],
    bound: readonly Bound[],
    dimensions: ReadonlySet<string>,
  ): Amount | undefined {
    let isKnown = true;
    const result = replaceRoots(amount, (name) => {
      const at = parameters.indexOf(name);
      const replacement = at >= 0 ? bound[at]!.amount : dimensions.has(name) ? undefined : this.#numberOf(name);
      if (replacement === undefined && !dimensions.has(name)) isKnown = false;
      return replacement;
    });
    return isKnown ? result : undefined;
  }

  #numberOf(name: string): Amount | undefined {
    const value = this.#value(name);
    return value === undefined ? undefined : constant(value);
  }

  /** Whether a number of reads is that of the buffer's elements, at two unlike shapes. */
  #isWhole({ shape }: DraftBuffer, read: Amount): boolean {
    return [3, 5].every((offset) => {
      const at = new Map(this.#draft.dimensions.map(({ name }, i) => [name, offset + 7 * i]));
      const elements = shape.reduce((all, extent) => all * evaluate(extent, at), 1);
      return evaluate(read, at) === elements;
    });
  }

  #text(
    item: Item,
    translated: Translation,
    bound: readonly Bound[],
    results: readonly DraftBuffer[],
    returned?: DraftBuffer,
  ): string {
    const inputs = this.#draft.buffers.filter(isInput);
    const passed = new Set(bound.flatMap(({ buffer }) => buffer ?? []));
    const lines = [
      ...this.#dimensionLines(
        `${translated.name} ${bound.map(({ text }) => text).join(' ')} ${results.map(sizeText).join(' ')}`,
      ),
      ...inputs.filter((buffer) => passed.has(buffer)).map(inputLine),
      ...results
        .filter(({ role }) => role === 'out')
        .map((buffer) => `const ${scriptName(buffer.name)} = new Float64Array(${sizeText(buffer)});`),
    ];
    const args = [
      ...bound.map(({ text }) => text),
      ...(/round: \(value/.test(translated.text.split('\n')[0]!) ? ['round'] : []),
    ];
    const call = `${translated.name}(${args.join(', ')})`;
    lines.push(returned ? `${scriptName(returned.name)}[0] = round(Number(${call}));` : `${call};`);
    const names = results.map(({ name }) => (scriptName(name) === name ? name : `${name}: ${scriptName(name)}`));
    const rounds = returned !== undefined || args.at(-1) === 'round';
    const parameters = [
      'inputs',
      ...(lines.some((line) => line.includes('dimensions')) || rounds ? ['dimensions'] : []),
      ...(rounds ? ['round'] : []),
    ];
    return [
      "import type { ReferenceFunction } from 'warpsmith';",
      '',
      '/*',
      ` * DRAFT. Translated from ${item.name} (${this.#source.file}, line ${item.tokens[0]!.line}) by \`warpsmith init\`: the`,
      ' * same loops in float64. Nobody has checked that it computes what you mean. Read it against the formula, run',
      ' * `warpsmith audit`, and then remove this comment.',
      ' */',
      '',
      `export const reference: ReferenceFunction = (${parameters.join(', ')}) => {`,
      ...lines.map((line) => `  ${line}`),
      `  return { ${names.join(', ')} };`,
      '};',
      '',
      translated.text,
      '',
    ].join('\n');
  }

  /** Dimensions that the text names. */
  #dimensionLines(text: string): string[] {
    const names = this.#draft.dimensions
      .map(({ name }) => name)
      .filter((name) => new RegExp(`\\b${name}\\b`).test(text));
    if (names.length === 0) return [];
    const type = `Record<${names.map((name) => `'${name}'`).join(' | ')}, number>`;
    return [`const { ${names.join(', ')} } = dimensions as ${type};`];
  }
}

const known = <K extends string>(key: K, amount: Amount | undefined): { [P in K]?: Amount } =>
  (amount ? { [key]: amount } : {}) as { [P in K]?: Amount };

function sameName(buffer: string, parameter: string): boolean {
  const bare = (name: string): string => name.toLowerCase().replaceAll(/^(?:h|host|cpu)_|_(?:h|host|cpu)$|_/g, '');
  return bare(buffer) === bare(parameter);
}

const isScalarBuffer = ({ shape }: DraftBuffer): boolean => shape.every((extent) => isNumber(extent, 1));

const inputLine = ({ name, role }: DraftBuffer): string =>
  `const ${scriptName(name)} = inputs.${name}!${role === 'inout' ? '.slice()' : ''};`;

const sizeText = ({ shape }: DraftBuffer): string => scriptOf(elementsOf(shape));

const scriptOf = (amount: Amount): string =>
  printAmount(amount)
    .replaceAll(/\b(floor|ceil|min|max|sqrt|log2|abs|pow)\(/g, 'Math.$1(')
    .replaceAll(/\bceilDiv\(([^(),]+), ([^(),]+)\)/g, 'Math.ceil(($1) / ($2))');

function evaluate(amount: Amount, at: ReadonlyMap<string, number>): number {
  const settled = replaceRoots(amount, (name) => {
    const value = at.get(name);
    return value === undefined ? undefined : constant(value);
  });
  return settled.kind === 'constant' ? settled.value : Number.NaN;
}

function stubText(source: CudaSource, { buffers, dimensions }: Draft, refused: readonly string[]): string {
  const inputs = buffers.filter(isInput).map(describeBuffer);
  const results = buffers.filter(isResult).map(describeBuffer);
  const why =
    refused.length === 0
      ? []
      : [
          ' * Functions of the file that were not taken:',
          ...refused.map((line) => ` *   ${line.replaceAll('*/', '* /')}`),
        ];
  return [
    "import type { ReferenceFunction } from 'warpsmith';",
    '',
    '/*',
    ` * STUB. ${source.file} has no CPU function that \`warpsmith init\` could translate, so nothing says what is right.`,
    ...why,
    ` * Inputs: ${inputs.join(', ') || 'none'}. Results: ${results.join(', ')}.`,
    ` * Dimensions: ${dimensions.map(({ name }) => name).join(', ') || 'none'}.`,
    ' */',
    '',
    'export const reference: ReferenceFunction = () => {',
    "  throw new Error('this reference is a stub: write what the kernel computes, in float64, over the inputs as Float64Arrays');",
    '};',
    '',
  ].join('\n');
}
