import { expect, it } from 'vitest';
import type { LoggedResult, ObservedResult } from '../../../src/core/decisions.ts';
import type { Device } from '../../../src/core/device.ts';
import { WarpsmithError } from '../../../src/core/errors.ts';
import { constantResults } from '../../../src/evaluation/verify/constant-results.ts';
import { MetInputs } from '../../../src/evaluation/verify/met-inputs.ts';
import { toyProblem } from '../../support/toy-problem.ts';

const site = (number: number, result: LoggedResult, of: number[] = [], operation = `${number}`): ObservedResult => ({
  ...{ site: number, result, of, operation },
  place: { file: 'kernel.cu', line: number },
});

/** What each copy of the module sees, one after the other; which results each was asked for. */
async function constantOf(copies: ObservedResult[][]) {
  const asked: (number[] | undefined)[] = [];
  const device: Partial<Device> = {
    logResults(_, among) {
      asked.push(among && [...among]);
      return { module: {} as never, observed: () => copies[asked.length - 1] ?? [] };
    },
    unload: async () => {},
  };
  const met = new MetInputs(() => []);
  for (let i = 0; i < 9; i++) met.learn({ dimensions: { R: 4, C: 4 }, generatorSet: `set ${i}` }, []);
  const oracle = { check: () => ({ inputs: { bytes: new Map() } }) };
  // What the copies see is given, so none runs.
  const planFor = () => {
    throw new WarpsmithError({ code: 'bad-expression', message: 'R' });
  };
  const request = { device, problem: toyProblem(), oracle, planFor, seed: 1, timeoutMs: 1000 };
  const found = await constantResults(request as never, met);
  return { lines: found.map(({ place }) => place.line), asked };
}

const ZERO = { always: 0n };

it('results that are one number in every copy are told, and copies look at what is left', async () => {
  const { lines, asked } = await constantOf([
    [site(1, 'several'), site(2, ZERO), site(3, ZERO), site(4, 'never computed')],
    [site(2, ZERO), site(3, { always: 7n }), site(4, ZERO)],
    [site(2, ZERO), site(4, 'several')],
  ]);
  expect(asked).toEqual([undefined, [2, 3, 4], [2, 4]]);
  expect(lines).toEqual([2]);
});

it('of results that follow from one another the first is told; what was never computed is not', async () => {
  const copy = [site(1, ZERO), site(2, ZERO, [1]), site(3, ZERO, [2]), site(4, 'never computed')];
  expect((await constantOf([copy, copy, copy])).lines).toEqual([1]);
});

it('nothing more is looked at once every result has varied', async () => {
  const { lines, asked } = await constantOf([[site(1, 'several')]]);
  expect([lines, asked]).toEqual([[], [undefined]]);
});

it('of a result with several copies none is told if one varied', async () => {
  const copies = [site(1, 'several', [], 'a'), site(2, ZERO, [], 'a'), site(3, ZERO, [], 'b'), site(4, ZERO, [], 'b')];
  const { lines } = await constantOf([copies, copies, copies]);
  expect(lines).toEqual([3, 4]);
});
