import { disagreement, drawCases, executes, expectedResults, inputsOf, parseForm } from './cases.ts';
import type { OpcodeForm } from './forms.ts';
import { kernelText, type Mode, moduleText, WARP_LANES } from './kernel.ts';
import { type Cases, packInputs } from './launch-inputs.ts';
import { type KernelOptions, runKernel } from './run-kernel.ts';

export interface FormOptions extends KernelOptions {
  warps: number;
  seed: number;
  /** Changes the PTX before it runs. */
  transform?: (text: string) => string;
}

/** Runs a form in each mode and compares every lane with the interpreter; returns what disagrees. */
export function failuresOf(form: OpcodeForm, modes: readonly Mode[], options: FormOptions): string[] {
  const cases = drawCases(form, options.warps, options.seed);
  const size = form.results.length * cases.threads;
  const text = moduleText([kernelText('k', form, modes)]);
  const launch = {
    input: new Uint8Array(packInputs(form, cases).buffer),
    outputBytes: modes.length * size * 8,
    scalars: [BigInt(cases.threads), ...cases.uniform],
    ctas: cases.threads / WARP_LANES,
    threadsPerCta: WARP_LANES,
  };
  let output: Uint8Array;
  try {
    output = runKernel(options.transform ? options.transform(text) : text, launch, options);
  } catch (error) {
    return [String(error)];
  }
  const results = new BigUint64Array(output.buffer);
  return modes.flatMap((mode, m) => disagreements(form, cases, mode, results.subarray(m * size, (m + 1) * size)));
}

const SHOWN = 3;
const hex = (value: bigint): string => `0x${value.toString(16)}`;

/** The first lanes of a mode that disagree; nothing when all agree. */
function disagreements(form: OpcodeForm, cases: Cases, mode: Mode, got: BigUint64Array): string[] {
  const wanted = expectedResults(form, cases, mode);
  const instruction = parseForm(form, mode).instructions.at(-1)!;
  const problems: string[] = [];
  form.results.forEach((type, r) => {
    for (let t = 0; t < cases.threads; t++) {
      const want = wanted[r]![t];
      if (want === undefined) continue;
      const inputs = inputsOf(cases, mode, t);
      const value = got[r * cases.threads + t]!;
      const problem = disagreement(instruction, inputs, value, want, type);
      if (!problem) continue;
      const who = `${mode}, thread ${t}${executes(cases, mode, t) ? '' : ' (off)'}, result ${r}`;
      problems.push(`${who}: inputs ${inputs.map(hex).join(' ')}, got ${hex(value)}, want ${hex(want)} (${problem})`);
    }
  });
  return problems.slice(0, SHOWN);
}
