import { describe, expect, it } from 'vitest';
import { configurationAt } from '../../src/search/list-space.ts';
import { parseTuningResults } from '../../src/search/tuning-results.ts';

const parse = (content: object) =>
  parseTuningResults(
    { device_name: 'GPU', kernel_name: 'k', tune_params_keys: ['block', 'layout'], ...content },
    'cache.json',
  );

describe('a cache file of Kernel Tuner', () => {
  it('has times in milliseconds, and in words why there is none', () => {
    const { space, outcomes } = parse({
      cache: {
        '64,soa': { block: 64, layout: 'soa', time: 2, times: [3, 1] },
        '128,soa': { block: 128, layout: 'soa', time: 'CompilationFailedConfig' },
        '256,soa': { block: 256, layout: 'soa', time: 1e20 },
      },
    });
    expect(outcomes).toEqual([{ kind: 'timed', timeNs: 2e6 }, { kind: 'failed' }, { kind: 'failed' }]);
    expect(configurationAt(space, 1)).toEqual({ block: 128, layout: 'soa' });
  });

  it('may name the values in its keys alone', () => {
    const { space } = parse({ cache: { '64,soa': { time: 2 }, '128,aos': { time: 3 } } });
    expect(configurationAt(space, 1)).toEqual({ block: 128, layout: 'aos' });
  });

  it.each([
    ['no names', { tune_params_keys: 'block', cache: {} }, 'tune_params_keys'],
    ['no cache', { cache: [] }, 'cache'],
    ['an entry without a time', { cache: { '64,soa': { block: 64, layout: 'soa' } } }, 'cache["64,soa"].time'],
    ['a negative time', { cache: { '64,soa': { time: -1 } } }, 'cache["64,soa"].time'],
    ['an entry that lacks a value', { cache: { '64': { time: 1 } } }, 'cache["64"]'],
    ['an entry of another kind', { cache: { '64,soa': 3 } }, 'cache["64,soa"]'],
  ])('is refused with %s', (_name, content, path) => {
    expect(() => parse(content)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ code: 'not-a-kernel-tuner-cache', path }) }),
    );
  });

  it('is refused without any time', () => {
    expect(() => parse({ cache: { '64,soa': { time: 'InvalidConfig' } } })).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ code: 'no-valid-configuration', path: 'cache' }) }),
    );
  });
});
