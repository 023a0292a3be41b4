import type { Device, DeviceBuffer, LoadedModule } from '../../../src/core/device.ts';
import type { PlannedArgument, PlannedLaunch } from '../../../src/core/launch-plan.ts';
import {
  type Cases,
  disagreement,
  drawCases,
  executes,
  expectedResults,
  inputsOf,
  parseForm,
  warpMask,
} from './cases.ts';
import type { OpcodeForm } from './forms.ts';
import { kernelText, type Mode, moduleText, WARP_LANES } from './kernel.ts';

/** Runs a form on the device in each mode and compares every lane with the interpreter; returns what disagrees. */
export async function failuresOf(
  device: Device,
  form: OpcodeForm,
  modes: readonly Mode[],
  options: { warps: number; seed: number },
): Promise<string[]> {
  const loaded = await device.load({
    kind: 'ptx',
    text: moduleText([kernelText('k', form, modes)]),
    architecture: 'sm_90a',
    compiler: { name: 'test', version: '0' },
    functionSymbols: {},
    key: form.text,
    diagnostics: [],
  });
  if (!loaded.ok) return [loaded.message];
  const cases = drawCases(form, options.warps, options.seed);
  const outcome = await launch(device, loaded.module, form, modes, cases);
  await device.unload(loaded.module);
  if (typeof outcome === 'string') return [outcome];
  return modes.flatMap((mode, m) => {
    const size = form.results.length * cases.threads;
    return disagreements(form, cases, mode, outcome.subarray(m * size, (m + 1) * size));
  });
}

/** The results `[(m · results + r) · threads + t]`, or why there are none. */
async function launch(
  device: Device,
  module: LoadedModule,
  form: OpcodeForm,
  modes: readonly Mode[],
  cases: Cases,
): Promise<BigUint64Array | string> {
  const { threads } = cases;
  const words = packInputs(form, cases);
  const resultBytes = modes.length * form.results.length * threads * 8;
  const input = await device.allocate({ name: 'in', bytes: words.byteLength, alignmentBytes: 256 });
  const output = await device.allocate({ name: 'out', bytes: resultBytes, alignmentBytes: 256 });
  const buffers = new Map<string, DeviceBuffer>([
    ['in', input],
    ['out', output],
  ]);
  await device.write(input, new Uint8Array(words.buffer));
  const plan = { buffers: [], steps: [launchStep(cases)] };
  const outcome = await device.run(module, plan, buffers, { orderSeed: 0, count: false, timeoutMs: 20_000 });
  const bytes = await device.read(output);
  await device.free(input);
  await device.free(output);
  return outcome.ok ? new BigUint64Array(bytes.buffer) : `${outcome.status}: ${outcome.message}`;
}

const launchStep = (cases: Cases): PlannedLaunch => ({
  kind: 'launch',
  functionName: 'k',
  grid: [cases.threads / WARP_LANES, 1, 1],
  block: [WARP_LANES, 1, 1],
  dynamicSharedBytes: 0,
  cooperative: false,
  programmaticDependent: false,
  arguments: [
    { kind: 'buffer', buffer: 'in', offsetBytes: 0 },
    { kind: 'buffer', buffer: 'out', offsetBytes: 0 },
    { kind: 'scalar', dtype: 'u32', value: cases.threads },
    ...cases.uniform.map(
      (value): PlannedArgument => ({
        kind: 'bytes',
        bytes: new Uint8Array(new BigUint64Array([value]).buffer),
        alignmentBytes: 8,
      }),
    ),
  ],
});

function packInputs(form: OpcodeForm, cases: Cases): BigUint64Array<ArrayBuffer> {
  const { threads, sources, active } = cases;
  const words = new BigUint64Array((sources.length + 2) * threads);
  for (let t = 0; t < threads; t++) {
    form.sources.forEach((_, s) => {
      words[s * threads + t] = sources[s]![t]!;
    });
    words[sources.length * threads + t] = active[t] ? 1n : 0n;
    words[(sources.length + 1) * threads + t] = BigInt(warpMask(cases, t));
  }
  return words;
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
