import { disagreement, expectedResults, inputsOf, parseForm } from '../opcodes/cases.ts';
import type { FormCase, RecordedForm } from './form-cases.ts';

const hex = (value: bigint): string => `0x${value.toString(16)}`;
const wordsOf = (bytes: Uint8Array): BigUint64Array => new BigUint64Array(bytes.slice().buffer);

/**
 * Where what `out` holds is not what a GPU gave, form by form. Bits must be equal, with three exceptions: results that the ISA does not
 * define; NaNs, which stand for each other; approximate functions, where both must lie within the ISA's bound.
 */
export function formDisagreements(
  { forms, parts }: FormCase,
  recorded: readonly Uint8Array[],
  out: Uint8Array,
): string[] {
  let at = 0;
  return forms.flatMap((form, i) => {
    const { name, bytes } = parts[i]!;
    at += bytes;
    const problem = ofForm(form, wordsOf(recorded[i]!), wordsOf(out.subarray(at - bytes, at)));
    return problem === undefined ? [] : [`${name} ${problem}`];
  });
}

/** The first thread that disagrees. */
function ofForm(
  { form, modes, threads, cases }: RecordedForm,
  recorded: BigUint64Array,
  own: BigUint64Array,
): string | undefined {
  if (recorded.every((word, i) => word === own[i]) && !/\.(?:approx|full)\b/.test(form.text)) return undefined;
  const drawn = cases();
  for (const [m, mode] of modes.entries()) {
    const wanted = expectedResults(form, drawn, mode);
    const instruction = parseForm(form, mode).instructions.at(-1)!;
    for (const [r, type] of form.results.entries())
      for (let thread = 0; thread < threads; thread++) {
        const exact = wanted[r]![thread];
        if (exact === undefined) continue;
        const place = (m * form.results.length + r) * threads + thread;
        const [gpu, here] = [recorded[place]!, own[place]!];
        const inputs = inputsOf(drawn, mode, thread);
        const judge = (got: bigint) => disagreement(instruction, inputs, got, exact, type);
        const problem = judge(here) ?? judge(gpu);
        if (problem)
          return `${mode}, thread ${thread}, result ${r} of ${inputs.map(hex).join(' ')}: ${hex(here)} here, ${hex(gpu)} on the GPU, ${hex(exact)} by the ISA (${problem})`;
      }
  }
  return undefined;
}
