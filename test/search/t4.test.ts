import { describe, expect, it } from 'vitest';
import { configurationAt } from '../../src/search/list-space.ts';
import { parseT4 } from '../../src/search/t4.ts';

const correct = (configuration: object, value: unknown, more: object = {}) => ({
  configuration,
  invalidity: 'correct',
  measurements: [{ name: 'time', value, unit: '' }],
  objectives: ['time'],
  ...more,
});
const parse = (results: unknown, more: object = {}) => parseT4({ results, ...more }, 'file.json');

describe('parseT4', () => {
  it('refuses more values of a parameter than a space can hold', () => {
    const results = Array.from({ length: 65_537 }, (_, number) => correct({ number }, 1));
    expect(() => parse(results)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ code: 'space-too-large', file: 'file.json' }) }),
    );
  });

  it('reads times in milliseconds, failures and values of every kind', () => {
    const { space, outcomes, repeated } = parse([
      correct({ block: 64, layout: 'soa', fuse: true }, 2),
      { ...correct({ block: 128, layout: 'aos', fuse: false }, 'RuntimeFailedConfig'), invalidity: 'runtime' },
    ]);
    expect(outcomes).toEqual([{ kind: 'timed', timeNs: 2e6 }, { kind: 'failed' }]);
    expect(repeated).toBe(0);
    expect(space.dimensions.map(({ name, values }) => [name, values])).toEqual([
      ['block', [64, 128]],
      ['layout', ['soa', 'aos']],
      ['fuse', [true, false]],
    ]);
  });

  it.each([
    ['us', '', 3e3],
    ['seconds', '', 3e9],
    ['miliseconds', 'ns', 3],
    [undefined, 'microseconds', 3e3],
  ])('takes the unit %j of the file and %j of the measurement', (timeunit, unit, timeNs) => {
    const result = { ...correct({ a: 1 }, 3), measurements: [{ name: 'time', value: 3, unit }] };
    expect(parse([result], { metadata: { timeunit } }).outcomes).toEqual([{ kind: 'timed', timeNs }]);
  });

  it('takes the measurement that the objective names', () => {
    const measurements = [
      { name: 'compile time', value: 900 },
      { name: 'kernel time', value: 4 },
    ];
    expect(parse([correct({ a: 1 }, 0, { measurements, objectives: ['kernel time'] })]).outcomes).toEqual([
      { kind: 'timed', timeNs: 4e6 },
    ]);
  });

  it.each([
    ['no measurements', {}],
    ['an objective that is no time', { measurements: [{ name: 'GFLOP/s', value: 900 }], objectives: ['GFLOP/s'] }],
  ])('takes the median of the runtimes where there are %s', (_, more) => {
    const result = { configuration: { a: 1 }, invalidity: 'correct', times: { runtimes: [3, 1, 2] }, ...more };
    expect(parse([result]).outcomes).toEqual([{ kind: 'timed', timeNs: 2e6 }]);
  });

  it('lets the last entry of a configuration stand, however its values are ordered', () => {
    const { space, outcomes, repeated } = parse([
      correct({ a: 1, b: 2 }, 1),
      correct({ a: 2, b: 2 }, 5),
      correct({ b: 2, a: 1 }, 3),
    ]);
    expect([space.size, repeated]).toEqual([2, 1]);
    expect(outcomes.map((outcome) => outcome.kind === 'timed' && outcome.timeNs)).toEqual([5e6, 3e6]);
    expect(configurationAt(space, 1)).toEqual({ a: 1, b: 2 });
  });

  it.each<[string, unknown, string | undefined]>([
    ['no object', [1], undefined],
    ['no results', {}, 'results'],
    ['results of another kind', { results: {} }, 'results'],
    ['a result that is no object', { results: [correct({ a: 1 }, 1), 7] }, 'results[1]'],
    ['no configuration', { results: [{ invalidity: 'correct' }] }, 'results[0].configuration'],
    ['a nested value', { results: [correct({ a: [1] }, 1)] }, 'results[0].configuration.a'],
    ['a time that is none', { results: [correct({ a: 1 }, 'fast')] }, 'results[0].measurements[0].value'],
    ['a time of zero', { results: [correct({ a: 1 }, 0)] }, 'results[0].measurements[0].value'],
    ['no time', { results: [{ configuration: { a: 1 }, invalidity: 'correct' }] }, 'results[0]'],
    [
      'a bad runtime',
      { results: [{ configuration: { a: 1 }, times: { runtimes: [1, -2] } }] },
      'results[0].times.runtimes[1]',
    ],
    ['a unit that is none', { results: [correct({ a: 1 }, 1)], metadata: { timeunit: 'cycles' } }, 'results[0]'],
    ['an invalidity that is none', { results: [{ configuration: { a: 1 }, invalidity: 3 }] }, 'results[0].invalidity'],
  ])('refuses %s, saying where', (_, content, path) => {
    const details = expect.objectContaining({ code: 'not-t4', file: 'file.json', ...(path && { path }) });
    expect(() => parseT4(content, 'file.json')).toThrow(expect.objectContaining({ details }));
  });

  it.each([[[]], [[{ ...correct({ a: 1 }, 1), invalidity: 'compile' }]]])('refuses a space without a time', (results) =>
    expect(() => parse(results)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ code: 'no-valid-configuration' }) }),
    ),
  );
});
