import { ModuleBuilder } from '../wasm/module-builder.ts';
import { ProductEmitter, ROW_BYTES, type TensorKernelForm } from './product-emitter.ts';

/**
 * `tensor-model.ts` for whole warps, in WebAssembly, for every mma.sync of a kernel. Takes the byte addresses of the
 * registers of A, B, C and D in its memory, each 32 lanes of 32 bits; D's may be C's. Returns 1; or 0, with D unchanged, if
 * some element is not finite or so large or small that f32 arithmetic could not follow the model.
 */
export type TensorKernel = (...registers: number[]) => number;

/** The kernel for registers that lie in `memory`. */
export function createTensorKernel(memory: WebAssembly.Memory, form: TensorKernelForm): TensorKernel {
  const scratch = new WebAssembly.Memory({ initial: 1 });
  const instance = new WebAssembly.Instance(moduleFor(form), { env: { memory, scratch } });
  return instance.exports.multiply as TensorKernel;
}

const modules = new Map<string, WebAssembly.Module>();

function moduleFor(form: TensorKernelForm): WebAssembly.Module {
  const key = JSON.stringify(form);
  const known = modules.get(key);
  if (known) return known;
  const module = new ModuleBuilder();
  module.importMemory({ name: 'memory', minimumPages: 1 });
  module.importMemory({ name: 'scratch', minimumPages: 1 });
  const slices = form.k / 8;
  const registers = 2 * slices + slices + 4 + 4;
  const f = module.defineFunction({
    parameters: Array.from({ length: registers }, () => 'i32' as const),
    results: ['i32'],
  });
  const from = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);
  const [a, b] = [from(0, 2 * slices), from(2 * slices, slices)];
  const emitter = new ProductEmitter(f, form, { c: from(3 * slices, 4), d: from(3 * slices + 4, 4) });
  emitter.begin();
  // A quartet of lanes holds a column of B, and two rows of A.
  b.forEach((register, slice) => {
    emitter.decodeColumns(slice, (column) => f.get(register).memory('v128.load', column * ROW_BYTES));
  });
  emitter.forRows((half) => {
    emitter.decodeRowOfA((slice) =>
      f
        .get(emitter.row)
        .get(a[2 * slice + half]!)
        .op('i32.add')
        .memory('v128.load', 0),
    );
    emitter.multiplyRow(half);
  });
  emitter.pushIsInRange();
  f.if(() => emitter.writeResult());
  emitter.pushIsInRange();
  module.exportFunction('multiply', f);
  const compiled = new WebAssembly.Module(module.encode());
  modules.set(key, compiled);
  return compiled;
}
