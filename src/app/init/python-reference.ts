import { basename } from 'node:path';
import { WarpsmithError } from '../../core/errors.ts';
import { only } from '../../core/values.ts';
import { functionsInPython, type PythonFunction } from '../../evaluation/oracle/reference-process/python-program.ts';
import { identifierOf } from '../drafted-problem.ts';
import { readUserText } from '../loading/read-user-file.ts';
import { type Draft, type DraftBuffer, describeBuffer, isInput, isResult } from './draft.ts';

/** Files of a reference in Python, and what is to be said of it. */
export interface PythonReference {
  readonly files: Readonly<Record<string, string>>;
  readonly note: string;
}

/**
 * reference.py from a function that the user names as `FILE` or `FILE:function`: the file as it is, and a draft that calls the
 * function with the inputs and sizes that its parameters are named after. Reads the file, and runs nothing of it.
 *
 * @throws WarpsmithError `no-such-function`, `python-argument`; for a file that can't be read, or a missing Python.
 */
export async function pythonReference(named: string, draft: Draft): Promise<PythonReference> {
  const [, path = named, wanted] = /^(.*\.py)(?::([A-Za-z_]\w*))?$/.exec(named) ?? [];
  const text = await readUserText({
    file: path,
    expected: 'a Python file',
    hint: 'For example --reference python:ref.py:softmax',
  });
  const fn = chosenFunction(await functionsInPython(path), path, wanted);
  if (fn.name === 'reference' && fn.parameters[0] === 'inputs')
    return { files: { 'reference.py': text }, note: `reference.py is ${basename(path)}: it decides what is right.` };
  const module = moduleName(path);
  return {
    files: { 'reference.py': draftText(fn, module, draft, path), [`${module}.py`]: text },
    note: `reference.py is a draft that calls ${fn.name} of ${basename(path)}: check what it passes before you trust a verdict.`,
  };
}

function chosenFunction(
  functions: readonly PythonFunction[],
  path: string,
  wanted: string | undefined,
): PythonFunction {
  const usable = functions.filter(({ name }) => !name.startsWith('_'));
  const found =
    wanted === undefined
      ? (usable.find(({ name }) => name === 'reference') ?? only(usable))
      : functions.find(({ name }) => name === wanted);
  if (found) return found;
  throw new WarpsmithError({
    code: 'no-such-function',
    message: wanted === undefined ? `${path} has several functions.` : `${path} has no function ${wanted}.`,
    file: path,
    path: '--reference',
    received: usable.map(({ name }) => name).join(', ') || 'no functions',
    expected: 'one function that computes the results',
    hint: `Name one: --reference python:${path}:${usable[0]?.name ?? 'function'}`,
  });
}

/** As Python can import it, and unlike reference.py. */
function moduleName(path: string): string {
  const name = identifierOf(basename(path, '.py'));
  return name === 'reference' ? 'reference_of_file' : name;
}

function draftText(fn: PythonFunction, module: string, draft: Draft, path: string): string {
  const inputs = draft.buffers.filter(isInput);
  const results = draft.buffers.filter(isResult);
  const passed = argumentsOf(fn, inputs, draft, path);
  const returned =
    results.length === 1
      ? `    return {${JSON.stringify(results[0]!.name)}: results}`
      : `    return dict(zip(${JSON.stringify(results.map(({ name }) => name))}, results))`;
  return [
    `"""DRAFT. Calls ${fn.name} of ${module}.py, which decides what is right. warpsmith init matched its parameters by name;`,
    'nobody has checked that they are the right ones, or that it computes in float64. Then remove this text.',
    '',
    `Inputs: ${inputs.map(describeBuffer).join(', ')}. Results: ${results.map(describeBuffer).join(', ')}.`,
    '"""',
    '',
    `from ${module} import ${fn.name}`,
    '',
    '',
    'def reference(inputs, dimensions):',
    `    results = ${fn.name}(${passed.join(', ')})`,
    returned,
    '',
  ].join('\n');
}

/** By name; all by place where no name is known and the numbers agree. */
function argumentsOf(
  { name, parameters, needed }: PythonFunction,
  inputs: readonly DraftBuffer[],
  { dimensions }: Draft,
  path: string,
): string[] {
  const asInput = (buffer: DraftBuffer): string => `inputs[${JSON.stringify(buffer.name)}]`;
  const byName = parameters.map((parameter) => {
    const buffer = inputs.find((one) => bare(one.name) === bare(parameter));
    const dimension =
      dimensions.find((one) => one.name === parameter) ?? dimensions.find((one) => bare(one.name) === bare(parameter));
    return buffer ? asInput(buffer) : dimension && `dimensions[${JSON.stringify(dimension.name)}]`;
  });
  if (byName.every((one) => one === undefined) && needed <= inputs.length && inputs.length <= parameters.length)
    return inputs.map(asInput);
  const missing = parameters.find((_, i) => i < needed && byName[i] === undefined);
  if (missing === undefined)
    return parameters.flatMap((parameter, i) => (byName[i] === undefined ? [] : [`${parameter}=${byName[i]}`]));
  throw new WarpsmithError({
    code: 'python-argument',
    message: `Nothing says what ${name} gets for ${missing}.`,
    file: path,
    path: '--reference',
    received: `${name}(${parameters.join(', ')})`,
    expected: `parameters named after ${[...inputs, ...dimensions].map((one) => one.name).join(', ')}`,
    hint: 'Rename the parameters, give them defaults, or write reference(inputs, dimensions) yourself.',
  });
}

const bare = (name: string): string => name.toLowerCase().replaceAll(/^(?:h|d|dev|host)_|_(?:h|d|dev|host)$|_/g, '');
