import type { Candidate, KernelFile } from '../core/kernel.ts';
import { isSameKernel } from './same-kernel.ts';

/** The folder that a kernel.json is written for. */
export interface KernelPlace {
  /** Path of problem.json from there, and likewise the schema's, if it has one. */
  readonly problem: string;
  readonly schema?: string;
  /** The rung of that folder. Its name and remedies stay those of the folder. */
  readonly rung?: Pick<KernelFile, 'name' | 'remedies'>;
}

/**
 * The text of a candidate's kernel.json with its parameter values as defaults. Allowed values stay, and so does the layout
 * as long as only defaults and paths change.
 *
 * @param text - kernel.json as it lies in the kernel's folder.
 */
export function kernelJsonWithDefaults(candidate: Candidate, text: string, place: KernelPlace): string {
  const { problem, schema, rung } = place;
  const wanted = withDefaults(candidate, place);
  let edited = replaceString(text, '"problem"', candidate.kernel.file.problem, problem);
  if (schema !== undefined) edited = replaceString(edited, '"$schema"', candidate.kernel.file.$schema!, schema);
  if (rung !== undefined) {
    edited = replaceString(edited, '"name"', candidate.kernel.file.name, rung.name);
    edited = replaceRemedies(edited, rung.remedies);
  }
  for (const [name, value] of Object.entries(candidate.parameters)) edited = replaceDefault(edited, name, value);
  return isSameKernel(edited, wanted) ? edited : `${JSON.stringify(wanted, null, 2)}\n`;
}

const withDefaults = ({ kernel, parameters }: Candidate, { problem, schema, rung }: KernelPlace): KernelFile => ({
  ...(rung === undefined ? kernel.file : onRung(kernel.file, rung)),
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

const onRung = (
  { remedies: _, ...file }: KernelFile,
  { name, remedies }: NonNullable<KernelPlace['rung']>,
): KernelFile => ({
  ...file,
  name,
  ...(remedies === undefined ? {} : { remedies }),
});

const REMEDIES = String.raw`"remedies"\s*:\s*\[[^\]]*\]`;

function replaceRemedies(text: string, remedies: readonly string[] | undefined): string {
  if (remedies === undefined) return text.replace(new RegExp(String.raw`,\s*${REMEDIES}`), '');
  const list = remedies.map((id) => JSON.stringify(id)).join(', ');
  return text.replace(new RegExp(REMEDIES), () => `"remedies": [${list}]`);
}

function replaceString(text: string, key: string, from: string, to: string): string {
  const at = text.indexOf(JSON.stringify(from), text.indexOf(key));
  if (at < 0 || from === to) return text;
  return text.slice(0, at) + JSON.stringify(to) + text.slice(at + JSON.stringify(from).length);
}

/** The first `default` after the parameter's name and values. The caller checks that it is the right one. */
function replaceDefault(text: string, name: string, value: number): string {
  const declaration = new RegExp(
    `("${name}"\\s*:\\s*\\{(?:[^{}]|\\{[^{}]*\\})*?"default"\\s*:\\s*)(?:-?[\\d.eE+-]+|"[^"]*")`,
  );
  return text.replace(declaration, (_match, before: string) => `${before}${value}`);
}
