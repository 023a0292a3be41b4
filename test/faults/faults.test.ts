import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSession, type Session } from '../../src/app/session.ts';
import { aftermathDisagreements, faultDisagreements, faults, judgeFault, verdictOf } from './judge-fault.ts';

let session: Session;

beforeAll(async () => {
  session = await openSession({ device: 'virtual:h200', threads: 1, runTimeoutSeconds: 1 });
});

afterAll(async () => {
  await session[Symbol.asyncDispose]();
});

describe('faulty kernels on a virtual GPU', () => {
  const shown = faults().filter((name) => verdictOf(name, 'virtual') !== undefined);

  it.each(shown)('%s is reported as what it is, and the next evaluation is right', async (name) => {
    const { disagreements } = await judgeFault(session.evaluator, name, {
      kind: 'virtual',
      workload: 'small',
      seed: 1,
    });
    expect(disagreements).toEqual([]);
  });
});

it('every folder here is a fault that is judged, or the honest kernel', () => {
  const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).sort()).toEqual([...faults(), 'honest'].sort());
});

describe('what is not as it must be', () => {
  const expected = { statuses: ['crashed'], reason: /trap/ } as const;

  it('is a status or a reason that differs', () => {
    expect(faultDisagreements(expected, { status: 'crashed', reason: 'stopped with a trap' })).toEqual([]);
    expect(faultDisagreements(expected, { status: 'crashed', reason: 'gone' })).toHaveLength(1);
    expect(faultDisagreements(expected, { status: 'passed' })).toHaveLength(2);
  });

  it('is an honest kernel that fails, or takes another time than before', () => {
    const timed = (medianNs: number) => ({ status: 'passed', timing: { medianNs } }) as never;
    expect(aftermathDisagreements(timed(100), timed(109))).toEqual([]);
    expect(aftermathDisagreements(timed(100), timed(112))).toEqual([
      'after it the honest kernel takes 1.120 times as long as before',
    ]);
    expect(aftermathDisagreements(timed(100), timed(80))).toHaveLength(1);
    expect(aftermathDisagreements(timed(100), timed(Number.NaN))).toHaveLength(1);
    expect(aftermathDisagreements(timed(100), { status: 'device-failed', reason: 'lost' })).toEqual([
      'after it the honest kernel is device-failed: lost',
    ]);
  });
});
