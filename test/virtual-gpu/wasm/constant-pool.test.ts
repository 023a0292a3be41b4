import { describe, expect, it } from 'vitest';
import { ConstantPool } from '../../../src/virtual-gpu/wasm/constant-pool.ts';
import { ModuleBuilder } from '../../../src/virtual-gpu/wasm/module-builder.ts';

const START = 1280;
const WORDS = [0x3f80_0000, 127, 0x3f80_0000, -2, 0, -1, 0x7fff_ffff];

/** Runs a function that stores vectors of these words one after the other. */
function stored(pool: ConstantPool, loadsConstants: boolean): { words: Int32Array; memory: Int32Array; size: number } {
  const module = new ModuleBuilder();
  module.importMemory({ name: 'memory', minimumPages: 1 });
  module.setPool(pool);
  const f = module.defineFunction({ parameters: [], results: [] }, loadsConstants);
  for (const [i, word] of WORDS.entries())
    f.i32(0)
      .i32x4(word)
      .memory('v128.store', i * 16);
  module.exportFunction('run', f);
  const memory = new WebAssembly.Memory({ initial: 1 });
  const instance = new WebAssembly.Instance(new WebAssembly.Module(module.encode()), { env: { memory } });
  (instance.exports.run as () => void)();
  const words = new Int32Array(memory.buffer, 0, WORDS.length * 4);
  return { words, memory: new Int32Array(memory.buffer, START, 8), size: f.size };
}

const EXPECTED = Int32Array.from(WORDS.flatMap((word) => [word, word, word, word]));

describe('constants in memory', () => {
  it('are what they are elsewhere, each word once, and none of zeros or ones', () => {
    const { words, memory } = stored(new ConstantPool(START, 64), true);
    expect(words).toEqual(EXPECTED);
    expect([...memory]).toEqual([0x3f80_0000, 127, -2, 0x7fff_ffff, 0, 0, 0, 0]);
  });

  it('are made in place where there is no room left', () => {
    const { words, memory } = stored(new ConstantPool(START, 8), true);
    expect(words).toEqual(EXPECTED);
    expect([...memory]).toEqual([0x3f80_0000, 127, 0, 0, 0, 0, 0, 0]);
  });

  it('are made in place by functions that do not load them', () => {
    const [without, loading] = [false, true].map((loads) => stored(new ConstantPool(START, 64), loads));
    expect(without!.words).toEqual(EXPECTED);
    expect([...without!.memory]).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    expect(loading!.size).toBeLessThan(without!.size);
  });

  it('of different words are made in place', () => {
    const pool = new ConstantPool(START, 64);
    const module = new ModuleBuilder();
    module.setPool(pool);
    module.defineFunction({ parameters: [], results: [] }, true).i32x4(1, 2, 3, 4).op('drop');
    expect(pool.contents).toHaveLength(0);
  });
});
