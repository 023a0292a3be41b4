import { sizeOfDType } from '../../core/dtype.ts';
import { WarpsmithError } from '../../core/errors.ts';
import { formatJsonValue } from '../../core/json/json-path.ts';
import type {
  ArgumentDeclaration,
  ContentsDeclaration,
  Kernel,
  KernelFile,
  LaunchStepDeclaration,
} from '../../core/kernel.ts';
import { mapLaunches } from '../../core/plan/declared-steps.ts';
import type { ProblemFile } from '../../core/problem.ts';
import { constantsAsParameters, usersOfConstant } from '../../cuda-source/constant-memory.ts';
import { readCudaSource } from '../../cuda-source/source.ts';

type Part = Pick<Kernel, 'file' | 'sources'>;

/**
 * The kernel with its `constants` as parameters: each `__constant__` variable becomes the last parameter of the kernels that use
 * it, and their launches pass the buffer, or what kernel.json says it holds. No host code fills such a variable.
 *
 * @throws WarpsmithError `constant-memory`.
 */
export function fillConstants({ file, sources }: Part, problem: ProblemFile, place: string): Part {
  const { constants, ...rest } = file;
  return Object.entries(constants ?? {}).reduce(
    (part, [name, given]) => fillOne(part, { name, given, problem, place }),
    { file: rest as KernelFile, sources },
  );
}

interface Filled {
  readonly name: string;
  /** A buffer's name, or contents. */
  readonly given: string | ContentsDeclaration;
  readonly problem: ProblemFile;
  readonly place: string;
}

function fillOne({ file, sources }: Part, filled: Filled): Part {
  const { name } = filled;
  const { source, text, isArray } = declarationOf(sources, filled);
  const passed = isArray ? arrayArgument(file, filled) : { argument: valueArgument(filled) };
  const users = usersOfConstant(readCudaSource(text, source), name);
  const elsewhere = Object.entries(sources).find(([other, code]) => other !== source && mentions(code, name))?.[0];
  if (users.otherUser !== undefined || elsewhere !== undefined) {
    throw constantMemory(filled, {
      message: `\`${name}\` is used by ${users.otherUser === undefined ? elsewhere : `${users.otherUser}()`}, so it can't become a parameter of the kernels.`,
      expected: 'a variable that only kernels of its own file use',
      hint: 'Pass it to that function as an argument.',
    });
  }
  const isUser = (step: LaunchStepDeclaration): boolean =>
    users.kernels.includes(/(\w+)\s*(?:<.*)?$/.exec(step.function)?.[1] ?? '');
  return {
    file: {
      ...file,
      ...(passed.workspaces && { workspaces: { ...file.workspaces, ...passed.workspaces } }),
      steps: mapLaunches(file.steps, (step) =>
        isUser(step) ? { ...step, arguments: [...step.arguments, passed.argument] } : step,
      ),
    },
    sources: { ...sources, [source]: constantsAsParameters(text, source, [users]) },
  };
}

interface Passed {
  readonly argument: ArgumentDeclaration;
  readonly workspaces?: KernelFile['workspaces'];
}

/** A buffer, or a workspace that holds the values before the first launch. */
function arrayArgument(file: KernelFile, filled: Filled): Passed {
  const { name, given } = filled;
  if (typeof given === 'string') {
    checkBuffer(file, given, filled);
    return { argument: { buffer: given } };
  }
  if (!('values' in given || 'bytes' in given)) {
    throw constantMemory(filled, {
      message: `\`${name}\` is an array, and its number of elements is not known from one value.`,
      expected: '{ "dtype": "f32", "values": [1, 2, 1] }, or { "bytes": "…" }',
      hint: 'List the values.',
    });
  }
  const bytes = 'bytes' in given ? given.bytes.length / 2 : given.values.length * sizeOfDType(given.dtype);
  const workspace = `constant_${name}`;
  return {
    argument: { buffer: workspace },
    workspaces: { [workspace]: { bytes, init: 'once', contents: given } },
  };
}

/** What is no array is passed by value: a number, or the bytes of a struct. */
function valueArgument(filled: Filled): ArgumentDeclaration {
  const { name, given } = filled;
  if (typeof given !== 'string' && 'value' in given) return { scalar: given.value, dtype: given.dtype };
  if (typeof given !== 'string' && 'bytes' in given) return { bytes: given.bytes };
  throw constantMemory(filled, {
    message: `\`${name}\` is no array, so it is passed by value.`,
    expected: '{ "dtype": "i32", "value": 3 } for a number, { "bytes": "…" } for a struct',
    hint: 'The value may be an expression of dimensions, scalars and parameters.',
  });
}

function checkBuffer({ workspaces = {} }: KernelFile, buffer: string, filled: Filled): void {
  const { inputs, outputs } = filled.problem;
  const known = [...Object.keys(inputs), ...Object.keys(outputs), ...Object.keys(workspaces)];
  if (known.includes(buffer)) return;
  throw constantMemory(filled, {
    message: `There is no buffer \`${buffer}\` to fill \`${filled.name}\` from.`,
    expected: known.join(', '),
    hint: 'Name an input of the problem, or write the values: { "dtype": "f32", "values": [1, 2, 1] }.',
  });
}

/** The file that declares it without an initialiser, and its text. */
function declarationOf(sources: Kernel['sources'], filled: Filled): { source: string; text: string; isArray: boolean } {
  for (const [source, text] of Object.entries(sources)) {
    const found = readCudaSource(text, source).items.find(
      ({ kind, name, words, tokens }) =>
        kind === 'variable' &&
        name === filled.name &&
        words.has('__constant__') &&
        !tokens.some((token) => token.text === '='),
    );
    if (found) return { source, text, isArray: found.tokens.some((token) => token.text === '[') };
  }
  throw constantMemory(filled, {
    message: `The sources have no variable \`${filled.name}\` in __constant__ memory without an initialiser.`,
    expected: `a declaration such as \`__constant__ float ${filled.name}[9];\``,
    hint: 'One with an initialiser needs nothing of kernel.json.',
  });
}

const mentions = (text: string, name: string): boolean => new RegExp(`\\b${name}\\b`).test(text);

const constantMemory = (
  { name, given, place }: Filled,
  words: { message: string; expected: string; hint: string },
): WarpsmithError =>
  new WarpsmithError({
    code: 'constant-memory',
    file: place,
    path: `constants.${name}`,
    received: formatJsonValue(given),
    ...words,
  });
