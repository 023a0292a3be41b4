import { describeAllowed } from '../../core/plan/dimensions.ts';
import type { ProblemFile } from '../../core/problem.ts';
import { fillTemplate } from '../fill-template.ts';
import type { GivenNames } from '../given-names.ts';
import { type CallShape, hasGradient, type Keyword, type NamedBuffer } from './call-shape.ts';
import { pythonNames, pythonString } from './python-names.ts';

/** A kernel of the package: its module, and its machine code by architecture. */
export interface TorchKernel {
  readonly name: string;
  /** Name of the generated module. */
  readonly module: string;
  /** Architecture → file below cubins/, and the symbols of the launched functions in order. */
  readonly code: Readonly<Record<string, { readonly file: string; readonly symbols: readonly string[] }>>;
}

/** Names in the scope of the generated functions. */
const OWN_NAMES = [
  'out',
  'torch',
  'key',
  'call',
  'results',
  'tensors',
  'wanted',
  'annotations',
  'known',
  'shape',
  'strides',
];

/**
 * Python that defines the operator: `<package>::<function>` and `…_out` in torch.library, and the function that users call.
 */
export function opModule(request: {
  readonly problem: ProblemFile;
  readonly call: CallShape;
  readonly kernels: readonly TorchKernel[];
  /** The package and its namespace in torch.ops. */
  readonly name: string;
  /** Of the operator. */
  readonly functionName: string;
  readonly version: string;
}): string {
  const { problem, call, kernels, name, functionName, version } = request;
  const writer = new CallWriter(call, functionName);
  return fillTemplate('torch/_op.py', {
    problem: problem.name,
    version,
    modules: kernels.map(({ module }) => `, ${module}`).join(''),
    kernels: kernels.map((kernel) => `${pythonString(kernel.name)}, ${kernel.module}, ${codeTable(kernel)}`),
    namespace: pythonString(name),
    function: pythonString(functionName),
    outFunction: pythonString(`${functionName}_out`),
    qualified: pythonString(`${name}::${functionName}`),
    outQualified: pythonString(`${name}::${functionName}_out`),
    plain: functionName,
    description: commentLine(problem.description),
    ...writer.values(),
  });
}

const codeTable = ({ code }: TorchKernel): string =>
  `{${Object.entries(code)
    .map(
      ([architecture, { file, symbols }]) =>
        `${pythonString(architecture)}: (${pythonString(file)}, [${symbols.map(pythonString).join(', ')}])`,
    )
    .join(', ')}}`;

/** One line that ends no docstring. */
export const commentLine = (text: string): string =>
  text.replaceAll(/\s+/g, ' ').replaceAll('\\', '\\\\').replaceAll('"""', "'''").replace(/"$/, "'").trim();

class CallWriter {
  readonly #call: CallShape;
  readonly #names: GivenNames;
  readonly #functionName: string;

  constructor(call: CallShape, functionName: string) {
    this.#call = call;
    this.#functionName = functionName;
    this.#names = pythonNames([...OWN_NAMES, functionName, 'chosen', 'load', 'OPERATOR', 'Kernel', 'Operator']);
    for (const { name } of [...call.operands, ...call.results, ...call.keywords]) this.#names.of(name);
  }

  values(): Readonly<Record<string, string | number | readonly string[]>> {
    const { operands, results, keywords } = this.#call;
    const names = (list: readonly { name: string }[]): string[] => list.map(({ name }) => this.#names.of(name));
    const operandNames = names(operands);
    const tuple = (list: readonly string[]): string =>
      list
        .map((item) => `${item}, `)
        .join('')
        .trimEnd();
    const given = names(keywords);
    const passed = (list: readonly Keyword[]): string[] => list.map((keyword) => this.#passed(keyword));
    const callGiven = passed(this.#schemaOrder(keywords));
    const dimensions = this.#dimensionParameters();
    const key = operandNames.flatMap((name) => [
      `${name}.shape`,
      `${name}.stride()`,
      `${name}.dtype`,
      `${name}.device`,
    ]);
    const grads = operands.filter(hasGradient).map(({ name }) => `${this.#names.of(name)}.requires_grad`);
    return {
      schema: pythonString(`${this.#functionName}(${this.#schemaParameters(false)}) -> ${this.#returns()}`),
      outSchema: pythonString(`${this.#functionName}_out(${this.#schemaParameters(true)}) -> ()`),
      parameters: [...operandNames, ...dimensions].join(', '),
      outParameters: [...operandNames, ...names(results), ...dimensions].join(', '),
      requiresGrad: grads.join(' or ') || 'False',
      key: [...key, ...given].join(', '),
      operandTuple: tuple(operandNames),
      operandList: operandNames.join(', '),
      givenTuple: tuple(given),
      callGivenTuple: tuple(passed(keywords)),
      resultTuple: tuple(names(results)),
      resultList: names(results).join(', '),
      resultCount: results.length,
      resultNames: results.map(({ name }) => name).join(', '),
      first: operandNames[0]!,
      returned: this.#returned(),
      signature: this.#signature(true),
      chosenSignature: this.#signature(false),
      documentation: this.#documentation(),
      call: this.#callLines([...operandNames, ...callGiven]),
      callGiven: callGiven.join(', '),
    };
  }

  /** Those that must be given come first, as schemas want it. */
  #schemaOrder(keywords: readonly Keyword[]): Keyword[] {
    return [
      ...keywords.filter((keyword) => isRequired(keyword)),
      ...keywords.filter((keyword) => !isRequired(keyword)),
    ];
  }

  #dimensionParameters(): string[] {
    return this.#schemaOrder(this.#call.keywords).map((keyword) => {
      const name = this.#names.of(keyword.name);
      return isRequired(keyword) ? name : `${name}=${constantDefault(keyword) ?? 'None'}`;
    });
  }

  #schemaParameters(isOut: boolean): string {
    const { operands, results, keywords } = this.#call;
    const mutable = operands.map(({ name, buffer }, index) =>
      buffer.access === 'in' ? `Tensor ${this.#names.of(name)}` : `Tensor(a${index}!) ${this.#names.of(name)}`,
    );
    const into = results.map(({ name, buffer }, index) => {
      const optional = buffer.when === undefined ? '' : '?';
      return `Tensor(b${index}!)${optional} ${this.#names.of(name)}`;
    });
    const dimensions = this.#schemaOrder(keywords).map((keyword) => {
      const type = keyword.declaration.values === undefined ? 'SymInt' : 'int';
      const name = this.#names.of(keyword.name);
      if (isRequired(keyword)) return `${type} ${name}`;
      const constant = constantDefault(keyword);
      return constant === undefined ? `${type}? ${name}=None` : `${type} ${name}=${constant}`;
    });
    return [...mutable, ...(isOut ? into : []), ...dimensions].join(', ');
  }

  /** Results that are not always there make the number of them vary. */
  #kind(): 'none' | 'one' | 'several' | 'varying' {
    const { results } = this.#call;
    if (results.some(({ buffer }) => buffer.when !== undefined)) return 'varying';
    return results.length === 0 ? 'none' : results.length === 1 ? 'one' : 'several';
  }

  #returns(): string {
    const tensors = this.#call.results.map(() => 'Tensor').join(', ');
    return { none: '()', one: 'Tensor', several: `(${tensors})`, varying: 'Tensor[]' }[this.#kind()];
  }

  #returned(): string {
    return {
      none: 'return None',
      one: 'return results[0]',
      several: 'return tuple(results)',
      varying: 'return results',
    }[this.#kind()];
  }

  #callLines(values: readonly string[]): string[] {
    const call = `_operator(${values.join(', ')})`;
    if (this.#kind() !== 'varying') return [`return ${call}`];
    return [`results = ${call}`, 'return results[0] if len(results) == 1 else tuple(results)'];
  }

  #signature(withOut: boolean): string {
    const { operands, keywords } = this.#call;
    const named = keywords.map((keyword) => {
      const name = this.#names.of(keyword.name);
      const type = keyword.isFlag ? 'bool' : 'int';
      if (isRequired(keyword)) return `${name}: ${type}`;
      const constant = constantDefault(keyword);
      if (constant === undefined) return `${name}: ${type} | None = None`;
      return `${name}: ${type} = ${keyword.isFlag ? (constant === 0 ? 'False' : 'True') : constant}`;
    });
    const last = withOut ? ['out: torch.Tensor | tuple[torch.Tensor | None, ...] | None = None'] : [];
    const stars = named.length + last.length === 0 ? [] : ['*'];
    return [...operands.map(({ name }) => `${this.#names.of(name)}: torch.Tensor`), ...stars, ...named, ...last].join(
      ', ',
    );
  }

  #passed(keyword: Keyword): string {
    const name = this.#names.of(keyword.name);
    const number = keyword.isFlag ? `int(${name})` : name;
    const mayBeNone = !isRequired(keyword) && constantDefault(keyword) === undefined;
    return mayBeNone && keyword.isFlag ? `None if ${name} is None else int(${name})` : number;
  }

  #documentation(): string[] {
    const { operands, results, keywords } = this.#call;
    const tensor = ({ name, buffer }: NamedBuffer): string => {
      const shape = `(${buffer.shape.join(', ')})`;
      const when = buffer.when === undefined ? '' : `, if ${buffer.when}`;
      const written = buffer.access === 'inout' ? ', changed in place' : '';
      return commentLine(
        `    ${this.#names.of(name)}: ${buffer.dtype} ${shape}${when}${written}. ${buffer.description ?? ''}`,
      );
    };
    return [
      'Tensors, on one CUDA device:',
      ...operands.map((operand) => `    ${tensor(operand)}`),
      ...(keywords.length === 0 ? [] : ['Options:']),
      ...keywords.map(({ name, declaration, told }) => {
        const layout = told === undefined ? '' : ' None: what the strides of the tensors say.';
        return `    ${commentLine(`${this.#names.of(name)}: ${describeAllowed(declaration)}. ${declaration.description}${layout}`)}`;
      }),
      ...(results.length === 0 ? [] : ['Returns, in a tuple if there are several:']),
      ...results.map((result) => `    ${tensor(result)}`),
      'out: a tensor to write to, or a tuple of them in this order, None for one that is not computed.',
      'Raises TypeError for a dtype, ValueError for shapes, strides, devices and dimensions that no kernel takes,',
      'RuntimeError if a tensor requires a gradient or the driver fails.',
    ];
  }
}

export const isRequired = ({ declaration, told }: Keyword): boolean =>
  declaration.default === undefined && told === undefined;

/** Undefined where the default follows from other dimensions, or from strides. */
const constantDefault = ({ declaration, told }: Keyword): number | undefined =>
  typeof declaration.default === 'number' && told === undefined ? declaration.default : undefined;
