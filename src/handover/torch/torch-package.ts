import type { ComparedSizes } from '../../core/compared-sizes.ts';
import type { CompiledCode } from '../../core/compiled-code.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { candidateIdentifier } from '../dispatch-table.ts';
import { fillTemplate } from '../fill-template.ts';
import { identifierOf } from '../launch-header/cpp-names.ts';
import { launchedFunctions } from '../launch-header/steps.ts';
import { listedFiles } from '../reproduction.ts';
import { callShape } from './call-shape.ts';
import { kernelModule } from './kernel-module.ts';
import { commentLine, isRequired, opModule, type TorchKernel } from './op-module.ts';
import { problemModule, type TorchTable } from './problem-module.ts';

/** A kernel with its machine code, one for each architecture. */
export interface PackagedKernel {
  readonly candidate: Candidate;
  readonly code: readonly CompiledCode[];
  /** Where its results were compared: it takes calls of other sizes only if this is absent. */
  readonly compared?: ComparedSizes | undefined;
}

export interface TorchPackageRequest {
  readonly problem: ProblemFile;
  readonly kernels: readonly PackagedKernel[];
  /** Which of `kernels` takes a call. */
  readonly table: TorchTable;
  /** Of the package. */
  readonly name: string;
  /** For an example in README.md. */
  readonly dimensions: Dimensions;
  /** What is known of the kernels, in sentences. */
  readonly sentences: readonly string[];
  /** The same as data. */
  readonly evidence: unknown;
  readonly version: string;
  /** ISO 8601. */
  readonly date: string;
}

export interface TorchPackage {
  /** The function that users call. */
  readonly functionName: string;
  /** By path in the folder. */
  readonly files: Readonly<Record<string, string | Uint8Array>>;
}

/** What says that a folder was written by this, and which files. */
export const TORCH_MARK = 'export.json';

/** Files that are the same in every package. */
const RUNTIME = ['_checks.py', '_driver.py', '_numbers.py', '_plan.py', '_runtime.py', '_sizes.py'];

/** A Python package with machine code that PyTorch calls: an operator of torch.library, its kernels, and the evidence. */
export function torchPackage(request: TorchPackageRequest): TorchPackage {
  const { problem, name, version, date } = request;
  const call = callShape(problem);
  const functionName = identifierOf(problem.name);
  const kernels = request.kernels.map(torchKernel);
  const values = {
    ...{ package: name, plain: functionName, version, date: date.slice(0, 10) },
    ...{ problem: problem.name, description: commentLine(problem.description), packageVersion: version },
  };
  const inPackage: Record<string, string | Uint8Array> = {
    '__init__.py': fillTemplate('torch/__init__.py', {
      ...values,
      packageVersion: JSON.stringify(version),
      example: exampleCall(request),
    }),
    '_op.py': opModule({ problem, call, kernels, name, functionName, version }),
    '_problem.py': problemModule(problem, call, request.table, version),
    ...Object.fromEntries(RUNTIME.map((file) => [file, fillTemplate(`torch/${file}`, {})])),
    ...Object.fromEntries(
      request.kernels.map((kernel, index) => [`${kernels[index]!.module}.py`, kernelModule(kernel, problem, version)]),
    ),
    ...Object.assign({}, ...request.kernels.map(({ code }, index) => machineCode(kernels[index]!, code))),
    'py.typed': '',
    'evidence.json': `${JSON.stringify(request.evidence, null, 2)}\n`,
  };
  const files: Record<string, string | Uint8Array> = {
    'pyproject.toml': fillTemplate('torch/pyproject.toml', {
      ...values,
      distribution: name.replaceAll('_', '-'),
      summary: JSON.stringify(values.description).slice(1, -1),
    }),
    'README.md': readme(request, kernels, functionName),
    ...Object.fromEntries(Object.entries(inPackage).map(([path, contents]) => [`${name}/${path}`, contents])),
  };
  const mark = { schemaVersion: 1, kind: 'torch-package', files: [...Object.keys(files), TORCH_MARK] };
  return { functionName, files: { ...files, [TORCH_MARK]: `${JSON.stringify(mark, null, 2)}\n` } };
}

/** Files of an earlier package, from its export.json; none where that is not one. */
export const filesOfTorchPackage = (mark: string): string[] =>
  listedFiles(mark, 'torch-package', /\\|^\/|(?:^|\/)\.\.?(?:\/|$)/);

function torchKernel({ candidate, code }: PackagedKernel): TorchKernel {
  const module = candidateIdentifier('kernel', candidate);
  const functions = launchedFunctions(candidate.kernel.file);
  return {
    name: candidate.kernel.file.name,
    module,
    code: Object.fromEntries(
      code.map(({ architecture, kind, functionSymbols }) => [
        architecture,
        {
          file: `${module}.${architecture}.${kind}`,
          symbols: functions.map((name) => functionSymbols[name] ?? name),
        },
      ]),
    ),
  };
}

const machineCode = (kernel: TorchKernel, code: readonly CompiledCode[]): Record<string, string | Uint8Array> =>
  Object.fromEntries(
    code.map(({ architecture, kind, text }) => [
      `cubins/${kernel.code[architecture]!.file}`,
      kind === 'cubin' ? Buffer.from(text, 'base64') : text,
    ]),
  );

/** `O = attention(Q, K, V)`. */
function exampleCall({ problem }: TorchPackageRequest): string {
  const { operands, results, keywords } = callShape(problem);
  const given = keywords.filter(isRequired);
  const wanted = results.filter(({ buffer }) => buffer.when === undefined).map(({ name }) => name);
  const values = [...operands.map(({ name }) => name), ...given.map(({ name }) => `${name}=…`)];
  const target = wanted.length === 0 ? '' : `${wanted.join(', ')} = `;
  return `${target}${identifierOf(problem.name)}(${values.join(', ')})`;
}

function readme(request: TorchPackageRequest, kernels: readonly TorchKernel[], functionName: string): string {
  const { problem, name, version, table, sentences } = request;
  const { operands, results, keywords } = callShape(problem);
  const tensorRow = ({ name: tensor, buffer }: (typeof operands)[number]) => ({
    tensor,
    dtype: buffer.dtype,
    shape: buffer.shape.join(', '),
    note: [buffer.description ?? '', buffer.when === undefined ? '' : `Only if ${buffer.when}.`].join(' ').trim(),
  });
  return fillTemplate('torch/README.md', {
    name,
    distribution: name.replaceAll('_', '-'),
    function: functionName,
    description: problem.description,
    version,
    date: request.date.slice(0, 10),
    sentences,
    example: exampleCall(request),
    operands: operands.map(tensorRow),
    results: results.map(tensorRow),
    keywords: keywords.map(({ name: option, declaration, told }) => ({
      option,
      default: told ? 'what the strides say' : String(declaration.default ?? 'must be given'),
      note: declaration.description,
    })),
    kernels: request.kernels.map(({ candidate, code }) => ({
      kernel: candidate.kernel.file.name,
      candidate: candidate.id,
      architectures: code.map(({ architecture }) => architecture).join(', '),
      compiler: [...new Set(code.map(({ compiler }) => `${compiler.name} ${compiler.version}`))].join(', '),
    })),
    hasTable: table.entries.length > 0,
    entries: table.entries.map(({ workload, kernel }) => ({ workload, kernel: kernels[kernel]!.name })),
    fallback: kernels[table.fallback]!.name,
  });
}
