import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openVirtualCheck } from '../../../../src/app/author/model/virtual-check.ts';
import { loadKernel } from '../../../../src/app/loading/load-kernel.ts';
import { openSession } from '../../../../src/app/session.ts';
import { makeCandidate } from '../../../../src/core/candidate.ts';
import type { EvaluationRequest } from '../../../../src/core/evaluation.ts';
import { DEVICE_SPECS } from '../../../../src/hardware/device-specs.ts';
import { kernel, problem, scriptedEvaluator, type Verdict } from '../../../optimizer/fakes.ts';

const GPU = {
  device: { identity: { id: 'cuda:0', kind: 'cuda', name: 'a GPU' }, spec: DEVICE_SPECS.get('h200')! },
} as never;
const small = {
  ...problem,
  file: { ...problem.file, checkShapes: [{ dimensions: { N: 70 } }, { dimensions: { N: 33 } }] },
};

async function look(verdict: Verdict) {
  const asked: EvaluationRequest[] = [];
  const opened: string[] = [];
  let closed = 0;
  await using check = openVirtualCheck({
    session: GPU,
    problem: small,
    seed: 5,
    async open(device) {
      opened.push(device);
      const evaluator = scriptedEvaluator((_name, request) => {
        asked.push(request);
        return verdict;
      });
      return {
        evaluator,
        async [Symbol.asyncDispose]() {
          closed += 1;
        },
      };
    },
  })!;
  const told = await check.check(makeCandidate(kernel('a'), {}));
  await check[Symbol.asyncDispose]();
  return { told, asked, opened, closed };
}

describe('a candidate for a real GPU', () => {
  it('runs at the largest check shape of a virtual one like it first, with a seed of its own', async () => {
    const { told, asked, opened, closed } = await look({ status: 'unverified' });
    expect(told).toBeUndefined();
    expect(opened).toEqual(['virtual:h200']);
    expect(asked).toMatchObject([{ quick: true, workload: { dimensions: { N: 70 } } }]);
    expect(asked[0]!.seed).not.toBe(5);
    expect(closed).toBe(1);
  });

  it.each(['wrong', 'unsafe', 'crashed', 'launch-failed'] as const)('is refused where it is %s', async (status) => {
    const { told } = await look({ status, reason: 'all at columns ≥ 32' });
    expect(told).toMatch(/before any time of the real one[\s\S]*all at columns ≥ 32/);
  });

  it.each(['unsupported', 'compile-failed', 'timed-out', 'device-failed', 'passed'] as const)(
    'goes on where the virtual GPU says %s, which may be its own limit',
    async (status) => expect((await look({ status })).told).toBeUndefined(),
  );
});

it('a virtual GPU needs no check before', () => {
  const session = {
    device: { identity: { id: 'virtual:l4', kind: 'virtual', name: '' }, spec: DEVICE_SPECS.get('l4')! },
  } as never;
  expect(openVirtualCheck({ session, problem: small, seed: 1 })).toBeUndefined();
});

it('finds a wrong kernel for real, and passes a right one', async () => {
  const { kernel: right, problem: rowSum } = await loadKernel('examples/row-sum/02_warp_per_row');
  const text = readFileSync('examples/row-sum/02_warp_per_row/kernel.cu', 'utf8');
  const wrong = { ...right, sources: { 'kernel.cu': text.replace('offset = 16', 'offset = 8') } };
  await using check = openVirtualCheck({
    session: GPU,
    problem: rowSum,
    seed: 1,
    open: () => openSession({ device: 'virtual:l4', threads: 1 }),
  })!;
  expect(await check.check(makeCandidate(right, {}))).toBeUndefined();
  expect(await check.check(makeCandidate(wrong, {}))).toMatch(/wrong/);
});
