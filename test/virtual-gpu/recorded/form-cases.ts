import type { PlannedArgument } from '../../../src/core/launch-plan.ts';
import type { KernelLaunch, LaunchArgument } from '../../support/launch/launch-kernel.ts';
import { EDGE_FORMS, LANE_FORMS, type OpcodeForm, WARP_FORMS } from '../opcodes/forms.ts';
import { kernelText, type Mode, moduleText, WARP_LANES } from '../opcodes/kernel.ts';
import { type Cases, packInputs } from '../opcodes/launch-inputs.ts';
import { drawSources } from './draw-sources.ts';
import { joined } from './products.ts';
import type { RecordedCase } from './recorded-case.ts';

/** A form of an opcode, run by all threads of a few warps. */
export interface RecordedForm {
  readonly form: OpcodeForm;
  readonly modes: readonly Mode[];
  readonly threads: number;
  readonly cases: () => Cases;
}

/** Forms of one opcode, each in a kernel of its own. */
export interface FormCase extends RecordedCase {
  /** Beside its parts. */
  readonly forms: readonly RecordedForm[];
}

const opcodeOf = ({ text }: OpcodeForm): string => /^\w+/.exec(text)![0];

/** Of approximations there is more to know. */
const isApproximate = ({ text }: OpcodeForm): boolean => /^\w+\.(?:approx|full)\b/.test(text);
const THREADS = { exact: WARP_LANES, approximate: 8 * WARP_LANES };

/** Forms of a module, so that the driver compiles none for long. */
const FORMS_OF_A_CASE = 48;

const recorded = (form: OpcodeForm, modes: readonly Mode[]): RecordedForm => {
  const threads = isApproximate(form) ? THREADS.approximate : THREADS.exact;
  return { form, modes, threads, cases: () => drawSources(form, threads) };
};

const WORD_BYTES = 8;
const inBytes = ({ form, threads }: RecordedForm): number => (form.sources.length + 2) * threads * WORD_BYTES;
const outBytes = ({ form, modes, threads }: RecordedForm): number =>
  modes.length * form.results.length * threads * WORD_BYTES;

/** Sums of all before each. */
function startsOf(sizes: readonly number[]): number[] {
  let at = 0;
  return sizes.map((size) => {
    at += size;
    return at - size;
  });
}

const at = (buffer: string, offsetBytes: number): PlannedArgument => ({ kind: 'buffer', buffer, offsetBytes });
const NO_UNIFORM_VALUE: PlannedArgument = { kind: 'scalar', dtype: 'u64', value: 0 };

function caseOf(name: string, family: string, forms: readonly RecordedForm[]): FormCase {
  const inputs = startsOf(forms.map(inBytes));
  const outputs = startsOf(forms.map(outBytes));
  const launches = forms.map(({ form, threads }, i): KernelLaunch => {
    const values: LaunchArgument[] = form.sources.map(() => NO_UNIFORM_VALUE);
    const places = [at('in', inputs[i]!), at('out', outputs[i]!), { u32: threads }];
    return {
      functionName: `k${i}`,
      grid: threads / WARP_LANES,
      block: WARP_LANES,
      arguments: [...places, ...values],
    };
  });
  return {
    ...{ name, family, forms, launches },
    ptx: moduleText(forms.map(({ form, modes }, i) => kernelText(`k${i}`, form, modes))),
    buffers: () => ({
      in: joined(forms.map(({ form, cases }) => new Uint8Array(packInputs(form, cases()).buffer))),
      out: forms.reduce((sum, form) => sum + outBytes(form), 0),
    }),
    parts: forms.map((form) => ({ name: form.form.text, bytes: outBytes(form) })),
  };
}

function casesOf(family: string, forms: readonly OpcodeForm[], modes: readonly Mode[]): FormCase[] {
  return [...Map.groupBy(forms, opcodeOf)].flatMap(([opcode, own]) => {
    const count = Math.ceil(own.length / FORMS_OF_A_CASE);
    return Array.from({ length: count }, (_, i) => {
      const part = own.slice(i * FORMS_OF_A_CASE, (i + 1) * FORMS_OF_A_CASE);
      const name = count === 1 ? `${family}: ${opcode}` : `${family}: ${opcode} ${i + 1} of ${count}`;
      return caseOf(
        name,
        family,
        part.map((form) => recorded(form, modes)),
      );
    });
  });
}

export const FORM_CASES: readonly FormCase[] = [
  ...casesOf('lane by lane', LANE_FORMS, ['full']),
  ...casesOf('at the edge of normal numbers', EDGE_FORMS, ['full']),
  ...casesOf('across a warp', WARP_FORMS, ['full', 'divergent']),
];
