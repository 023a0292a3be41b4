import type { InstructionClass } from '../../core/vocabulary.ts';
import type { PtxInstruction } from '../ast.ts';
import { lastModifier, spaceOf } from '../instruction-parts.ts';
import { floatOf } from '../types.ts';

type ClassOf = (instruction: PtxInstruction) => InstructionClass;

/** Class of arithmetic by the type it is done in. */
export const byType: ClassOf = (instruction) => floatOf(lastModifier(instruction))?.kind ?? 'integer';

/** Reciprocals and roots use the special-function unit; the exact f64 ones are fp64 work. */
export const specialUnlessF64: ClassOf = (instruction) =>
  lastModifier(instruction) === 'f64' && !instruction.modifiers.includes('approx') ? 'fp64' : 'special';

/** f32 division is built on the reciprocal of the special-function unit. */
export const divide: ClassOf = (instruction) => {
  const type = byType(instruction);
  return type === 'fp32' ? 'special' : type;
};

/** Logic on predicates is predicate work. */
export const logic: ClassOf = (instruction) => (lastModifier(instruction) === 'pred' ? 'predicate' : 'integer');

const LOADS: Readonly<Record<ReturnType<typeof spaceOf>, InstructionClass>> = {
  // A generic address is most often one of device memory.
  generic: 'global-load',
  global: 'global-load',
  shared: 'shared-load',
  local: 'local-load',
  const: 'constant-load',
  param: 'constant-load',
};

const STORES: typeof LOADS = {
  generic: 'global-store',
  global: 'global-store',
  shared: 'shared-store',
  local: 'local-store',
  const: 'global-store',
  param: 'local-store',
};

export const loadBySpace: ClassOf = (instruction) => LOADS[spaceOf(instruction)];
export const storeBySpace: ClassOf = (instruction) => STORES[spaceOf(instruction)];

/** `wmma.load` and `wmma.store` move fragments; `wmma.mma` multiplies. */
export const wmma: ClassOf = (instruction) => {
  if (instruction.modifiers[0] === 'load') return loadBySpace(instruction);
  return instruction.modifiers[0] === 'store' ? storeBySpace(instruction) : 'tensor';
};

/** `wgmma.fence`, `.commit_group` and `.wait_group` only order. */
export const wgmma: ClassOf = ({ modifiers }) => (modifiers[0] === 'mma_async' ? 'tensor' : 'barrier');
