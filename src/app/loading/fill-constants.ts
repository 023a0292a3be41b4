import { WarpsmithError } from '../../core/errors.ts';
import type { Kernel, KernelFile } from '../../core/kernel.ts';
import type { ProblemFile } from '../../core/problem.ts';
import { constantsAsParameters, usersOfConstant } from '../../cuda-source/constant-memory.ts';
import { readCudaSource } from '../../cuda-source/source.ts';

type Part = Pick<Kernel, 'file' | 'sources'>;

/**
 * The kernel with its `constants` as parameters: each `__constant__` array becomes the last parameter of the kernels that use it,
 * and their launches pass the buffer. No host code fills such an array.
 *
 * @param place of kernel.json, for messages.
 * @throws WarpsmithError `constant-memory`.
 */
export function fillConstants({ file, sources }: Part, problem: ProblemFile, place: string): Part {
  const { constants, ...rest } = file;
  return Object.entries(constants ?? {}).reduce(
    (part, [name, buffer]) => fillOne(part, { name, buffer, problem, place }),
    { file: rest as KernelFile, sources },
  );
}

interface Filled {
  readonly name: string;
  readonly buffer: string;
  readonly problem: ProblemFile;
  readonly place: string;
}

function fillOne({ file, sources }: Part, filled: Filled): Part {
  const { name, buffer } = filled;
  checkBuffer(file, filled);
  const [source, text] = declarationOf(sources, filled);
  const users = usersOfConstant(readCudaSource(text, source), name);
  const elsewhere = Object.entries(sources).find(([other, code]) => other !== source && mentions(code, name))?.[0];
  if (users.otherUser !== undefined || elsewhere !== undefined) {
    throw constantMemory(filled, {
      message: `\`${name}\` is used by ${users.otherUser === undefined ? elsewhere : `${users.otherUser}()`}, so it can't become a parameter of the kernels.`,
      expected: 'an array that only kernels of its own file use',
      hint: 'Pass it to that function as an argument.',
    });
  }
  const launched = (step: KernelFile['steps'][number]) =>
    'function' in step && users.kernels.includes(/(\w+)\s*(?:<.*)?$/.exec(step.function)?.[1] ?? '');
  return {
    file: {
      ...file,
      steps: file.steps.map((step) =>
        'function' in step && launched(step) ? { ...step, arguments: [...step.arguments, { buffer }] } : step,
      ),
    },
    sources: { ...sources, [source]: constantsAsParameters(text, source, [users]) },
  };
}

function checkBuffer({ workspaces = {} }: KernelFile, filled: Filled): void {
  const { inputs, outputs } = filled.problem;
  const known = [...Object.keys(inputs), ...Object.keys(outputs), ...Object.keys(workspaces)];
  if (known.includes(filled.buffer)) return;
  throw constantMemory(filled, {
    message: `There is no buffer \`${filled.buffer}\` to fill \`${filled.name}\` from.`,
    expected: known.join(', '),
    hint: 'Name an input of the problem.',
  });
}

/** The file that declares it as an array without an initialiser, and its text. */
function declarationOf(sources: Kernel['sources'], filled: Filled): [file: string, text: string] {
  for (const [file, text] of Object.entries(sources)) {
    const found = readCudaSource(text, file).items.some(
      ({ kind, name, words, tokens }) =>
        kind === 'variable' &&
        name === filled.name &&
        words.has('__constant__') &&
        tokens.some((token) => token.text === '[') &&
        !tokens.some((token) => token.text === '='),
    );
    if (found) return [file, text];
  }
  throw constantMemory(filled, {
    message: `The sources have no array \`${filled.name}\` in __constant__ memory without an initialiser.`,
    expected: `a declaration such as \`__constant__ float ${filled.name}[9];\``,
    hint: 'A single number can be a scalar argument of the kernel.',
  });
}

const mentions = (text: string, name: string): boolean => new RegExp(`\\b${name}\\b`).test(text);

const constantMemory = (
  { name, buffer, place }: Filled,
  words: { message: string; expected: string; hint: string },
): WarpsmithError =>
  new WarpsmithError({ code: 'constant-memory', file: place, path: `constants.${name}`, received: buffer, ...words });
