import { ModuleBuilder } from './wasm/module-builder.ts';

/** Cases in which rounding the product first gives another result than a single rounding at the end. */
const CASES: readonly (readonly [number, number, number])[] = [
  [1 + 2 ** -12, 1 + 2 ** -12, -(1 + 2 ** -11)],
  [1 + 2 ** -23, 1 - 2 ** -23, -1],
  [3 * 2 ** -13 + 1, 5 * 2 ** -13 + 1, -1],
  [1.1, 1.1, -1.21],
];

/** True when `f32x4.relaxed_madd` rounds once on this host: the specification leaves that open. */
export function relaxedMaddIsFused(): boolean {
  const module = new ModuleBuilder();
  module.importMemory({ name: 'memory', minimumPages: 1 });
  const b = module.defineFunction({ parameters: [], results: [] });
  b.i32(48);
  for (const address of [0, 16, 32]) b.i32(address).memory('v128.load', 0);
  b.op('f32x4.relaxed_madd').memory('v128.store', 0);
  module.exportFunction('probe', b);
  const memory = new WebAssembly.Memory({ initial: 1 });
  const instance = new WebAssembly.Instance(new WebAssembly.Module(module.encode()), { env: { memory } });
  const floats = new Float32Array(memory.buffer);
  return CASES.every((operands) => {
    operands.forEach((value, i) => {
      floats[i * 4] = value;
    });
    // f32 products are exact in f64, and so are these sums.
    const expected = Math.fround(floats[0]! * floats[4]! + floats[8]!);
    (instance.exports as { probe(): void }).probe();
    return floats[12] === expected;
  });
}
