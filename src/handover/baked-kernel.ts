import { isDeepStrictEqual } from 'node:util';
import type { Candidate, KernelFile } from '../core/kernel.ts';

/**
 * The text of a candidate's kernel.json with the parameters' values as defaults: what it allows stays as it is, and so
 * does its layout, as far as only defaults change.
 *
 * @param text - kernel.json as it lies in the kernel's folder.
 * @param problem - path of problem.json from where the file is to lie, and likewise the schema's, if it has one.
 */
export const kernelJsonWithDefaults = (
  candidate: Candidate,
  text: string,
  { problem, schema }: { problem: string; schema?: string },
): string => {
  const wanted = withDefaults(candidate, problem, schema);
  let edited = replaceString(text, '"problem"', candidate.kernel.file.problem, problem);
  if (schema !== undefined) edited = replaceString(edited, '"$schema"', candidate.kernel.file.$schema!, schema);
  for (const [name, value] of Object.entries(candidate.parameters)) edited = replaceDefault(edited, name, value);
  return isSameJson(edited, wanted) ? edited : `${JSON.stringify(wanted, null, 2)}\n`;
};

const withDefaults = ({ kernel, parameters }: Candidate, problem: string, schema: string | undefined): KernelFile => ({
  ...kernel.file,
  ...(schema === undefined ? {} : { $schema: schema }),
  problem,
  ...(kernel.file.parameters && {
    parameters: Object.fromEntries(
      Object.entries(kernel.file.parameters).map(([name, declaration]) => [
        name,
        { ...declaration, default: parameters[name] ?? declaration.default },
      ]),
    ),
  }),
});

const replaceString = (text: string, key: string, from: string, to: string): string => {
  const at = text.indexOf(JSON.stringify(from), text.indexOf(key));
  if (at < 0 || from === to) return text;
  return text.slice(0, at) + JSON.stringify(to) + text.slice(at + JSON.stringify(from).length);
};

/** The first `default` after the parameter's name; the caller looks whether that was the right one. */
const replaceDefault = (text: string, name: string, value: number): string => {
  const declaration = new RegExp(`("${name}"\\s*:\\s*\\{[^{}]*?"default"\\s*:\\s*)-?[\\d.eE+-]+`);
  return text.replace(declaration, (_match, before: string) => `${before}${value}`);
};

const isSameJson = (text: string, wanted: KernelFile): boolean => {
  try {
    return isDeepStrictEqual(JSON.parse(text), wanted);
  } catch {
    return false;
  }
};
