import { rememberedAt } from '../../core/once-for.ts';
import { numbersBelow } from '../../core/values.ts';
import { PAGE_BYTES } from '../layout.ts';
import { type FunctionBuilder, i32s, type Local } from '../wasm/function-builder.ts';
import { ModuleBuilder } from '../wasm/module-builder.ts';
import {
  emitFindSlot,
  emitRemember,
  endOf,
  fillWithZeros,
  type OperandSlots,
  operandSlots,
  type PushSource,
} from './decoded-operands.ts';
import { defineWideMultiply, FREE, ProductEmitter, ROW_BYTES, type TensorKernelForm } from './product-emitter.ts';

/**
 * `tensor-model.ts` for whole warps, in WebAssembly, for every mma.sync of a kernel. Takes the byte addresses of the
 * registers of A, B, C and D in its memory, each 32 lanes of 32 bits; D's may be C's. Returns 1; or 0, with D unchanged, if
 * some element is not finite or so large or small that f32 arithmetic could not follow the model.
 */
export type TensorKernel = (...registers: number[]) => number;

/** Under which compiled code imports the kernel of one of its forms. */
export const productName = (index: number): string => `product${index}`;

/** Of A, B, C and D. */
export const registersOfProduct = ({ k }: TensorKernelForm): number => k / 4 + k / 8 + 4 + 4;

const REGISTER_BYTES = 128;
const VECTORS = REGISTER_BYTES / ROW_BYTES;

/**
 * Operands stay decoded, a power of two of them: A by the place of its first register, B by what it holds, since the other warps of a CTA
 * often multiply with the same.
 */
const [A_SLOTS, B_SLOTS] = [64, 128];

type Slots = Readonly<Record<'a' | 'b', OperandSlots>>;

function slotsOf({ k }: TensorKernelForm): Slots {
  const a = operandSlots('a', FREE, A_SLOTS, (k / 4) * VECTORS);
  return { a, b: operandSlots('b', endOf(a), B_SLOTS, (k / 8) * VECTORS) };
}

/** The kernel for registers that lie in `memory`. */
export function createTensorKernel(memory: WebAssembly.Memory, form: TensorKernelForm): TensorKernel {
  const { b } = slotsOf(form);
  const scratch = new WebAssembly.Memory({ initial: Math.ceil(endOf(b) / PAGE_BYTES) });
  fillWithZeros(scratch, b);
  const instance = new WebAssembly.Instance(moduleFor(form), { env: { memory, scratch } });
  return instance.exports.multiply as TensorKernel;
}

const modules = new Map<string, WebAssembly.Module>();

function moduleFor(form: TensorKernelForm): WebAssembly.Module {
  return rememberedAt(modules, JSON.stringify(form), () => new WebAssembly.Module(emit(form)));
}

function emit(form: TensorKernelForm): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder();
  module.importMemory({ name: 'memory', minimumPages: 1 });
  module.importMemory({ name: 'scratch', minimumPages: 1 });
  const decoders = { a: defineDecoder(module, form, 'a'), b: defineDecoder(module, form, 'b') };
  defineMultiply(module, form, decoders, defineWideMultiply(module, form));
  return module.encode();
}

const range = (first: number, count: number): number[] => numbersBelow(first + count).slice(first);

/** Vectors of registers whose addresses are in locals. */
const sourceOf =
  (f: FunctionBuilder, registers: readonly Local[]): PushSource =>
  (i) =>
    f.get(registers[Math.floor(i / VECTORS)]!).memory('v128.load', (i % VECTORS) * ROW_BYTES);

/** (slot, registers): decodes A or B. A quartet of lanes holds a column of B, and two rows of A. */
function defineDecoder(module: ModuleBuilder, form: TensorKernelForm, name: 'a' | 'b'): number {
  const slots = slotsOf(form)[name];
  const registers = range(1, slots.vectors / VECTORS);
  const f = module.defineFunction({ parameters: i32s(1 + registers.length), results: [] });
  const emitter = new ProductEmitter(f, form);
  const decoder = emitter.beginDecoding();
  f.get(0).set(emitter[name]);
  if (name === 'a') decoder.registersOfA(registers);
  else
    registers.forEach((register, slice) => {
      decoder.columnsOfB(slice, (column) => f.get(register).memory('v128.load', column * ROW_BYTES));
    });
  const pushIsOutOfRange = () => decoder.pushIsOutOfRange();
  emitRemember(f, slots, { slot: 0, pushSource: sourceOf(f, registers), pushIsOutOfRange });
  return f.index;
}

/** Pushes a number below `B_SLOTS`: halves of two columns times the golden ratio. */
function pushHash(f: FunctionBuilder, register: Local): void {
  f.get(register).memory('i64.load', 0).get(register).memory('i64.load', 104).op('i64.add');
  f.i64(0x9e37_79b9_7f4a_7c15n).op('i64.mul');
  f.i64(BigInt(64 - Math.log2(B_SLOTS))).op('i64.shr_u', 'i32.wrap_i64');
}

/** (registers of A, B, C and D) → whether everything is in range. */
function defineMultiply(
  module: ModuleBuilder,
  form: TensorKernelForm,
  decoders: Record<'a' | 'b', number>,
  wide: number,
): void {
  const slots = slotsOf(form);
  const a = range(0, slots.a.vectors / VECTORS);
  const b = range(a.length, slots.b.vectors / VECTORS);
  const c = range(a.length + b.length, 4);
  const d = range(a.length + b.length + 4, 4);
  const f = module.defineFunction({ parameters: new Array(registersOfProduct(form)).fill('i32'), results: ['i32'] });
  const emitter = new ProductEmitter(f, form);
  for (const [name, registers] of [
    ['a', a],
    ['b', b],
  ] as const) {
    const slot = emitter[name];
    const [first] = registers as [Local];
    if (name === 'a') f.get(first).i32(REGISTER_BYTES).op('i32.div_u').i32(A_SLOTS).op('i32.rem_u');
    else pushHash(f, first);
    emitFindSlot(f, slots[name], {
      slot,
      pushSource: sourceOf(f, registers),
      decode: () => {
        for (const argument of [slot, ...registers]) f.get(argument);
        f.call(decoders[name]);
      },
    });
  }
  emitter.multiply({ c, d }, wide);
  module.exportFunction('multiply', f);
}
