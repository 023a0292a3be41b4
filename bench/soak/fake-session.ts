import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../../src/app/session.ts';
import type { DeviceIdentity } from '../../src/core/device.ts';
import type { Evaluation, EvaluationRequest } from '../../src/core/evaluation.ts';
import type { Finding } from '../../src/core/finding.ts';
import type { Comparison } from '../../src/core/measurement.ts';
import type { Timing } from '../../src/core/timing.ts';
import type { FindingId } from '../../src/core/vocabulary.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';

export interface FakeSessionOptions {
  kind: Timing['kind'];
  /** What one evaluation takes. */
  pauseMs: number;
  /** Gets a line when an evaluation begins and one when it ends, whatever becomes of the process. */
  journal: string;
}

/** A number in [0, 1) that every process works out alike. */
const drawn = (...from: readonly (string | number)[]): number =>
  createHash('sha256').update(from.join(' ')).digest().readUInt32LE() / 2 ** 32;

const nsOf = (candidate: string, workload: string): number =>
  1000 * (1 + drawn('time', candidate)) * (1 + 0.1 * drawn('time', candidate, workload));

const FINDINGS: readonly FindingId[] = ['memory-bound', 'compute-bound', 'latency-bound', 'uncoalesced-access'];

const findingsOf = (candidate: string): Finding[] =>
  FINDINGS.filter((id) => drawn('fires', id, candidate) < 0.6).map((id) => ({
    id,
    title: id,
    estimatedSpeedup: 1 + drawn('gain', id, candidate),
    arithmetic: 'drawn',
    evidence: [{ counter: 'figure', value: drawn('value', id, candidate), threshold: 0, comparison: 'above' }],
    advice: 'none',
  }));

function comparisonsOf({ against = [], candidate, workload }: EvaluationRequest): Comparison[] {
  return against.map(({ name, candidate: other }) => {
    const ratio = nsOf(other.id, workload.name) / nsOf(candidate.id, workload.name);
    return {
      candidate: 'candidate',
      baseline: name,
      verdict: ratio > 1.01 ? 'faster' : ratio < 0.99 ? 'slower' : 'same',
      ratio,
      intervalRatio: [ratio * 0.995, ratio * 1.005],
      blockCount: 10,
      mannWhitney: { u: 0, pValue: 0.01 },
      cliffsDelta: 0.5,
    };
  });
}

const DEVICES: Readonly<Record<Timing['kind'], DeviceIdentity>> = {
  predicted: { id: 'virtual:l4', kind: 'virtual', name: 'NVIDIA L4 (virtual)' },
  measured: { id: 'cuda:0', kind: 'cuda', name: 'NVIDIA L4', uuid: 'GPU-0', driver: '580.00' },
};

function timingOf(kind: Timing['kind'], ns: number): Timing {
  const intervalNs: Timing['intervalNs'] = [ns * 0.9, ns * 1.1];
  return { kind, medianNs: ns, intervalNs, vetoNs: 1, attainableNs: 100, bindingResource: 'dram' };
}

/** One candidate in twelve is wrong, and the loop has to do without it. */
const isWrong = ({ candidate, workload }: EvaluationRequest): boolean =>
  candidate.kernel.file.name !== '01_strided' && drawn('wrong', candidate.id, workload.name) < 1 / 12;

function evaluationOf(request: EvaluationRequest, kind: Timing['kind']): Evaluation {
  const { candidate, workload } = request;
  const wrong = isWrong(request);
  return {
    schemaVersion: 1,
    id: request.id ?? 'e0',
    candidate: {
      id: candidate.id,
      kernel: candidate.kernel.file.name,
      folder: candidate.kernel.folder,
      parameters: candidate.parameters,
    },
    device: DEVICES[kind],
    workload: { name: workload.name, dimensions: workload.dimensions },
    status: wrong ? 'wrong' : 'passed',
    ...(wrong
      ? { reason: 'drawn to be wrong' }
      : { timing: timingOf(kind, nsOf(candidate.id, workload.name)), comparisons: comparisonsOf(request) }),
    findings: wrong ? [] : findingsOf(candidate.id),
    elapsedMs: { compile: 1, verify: 1, time: 1, total: 3 },
  };
}

/** What the log calls an evaluation, and the journal too. */
export const journalKey = (id: string, candidate: string, workload: string): string => `${id} ${candidate} ${workload}`;

/** A session whose evaluations take their time, come out alike in every process, and are counted outside of it. */
export function openFakeSession({ kind, pauseMs, journal }: FakeSessionOptions): Session {
  return {
    device: { identity: DEVICES[kind], spec: DEVICE_SPECS.get('l4')! },
    toolchain: { identity: { name: 'none', version: '0' } as Session['toolchain']['identity'] },
    environment: { warpsmith: 'test', compiler: 'none' },
    drawSeed: () => 1,
    evaluator: {
      async evaluate(request) {
        const key = journalKey(request.id ?? 'e0', request.candidate.id, request.workload.name);
        appendFileSync(journal, `begin ${key}\n`);
        await sleep(pauseMs);
        appendFileSync(journal, `end ${key}\n`);
        return evaluationOf(request, kind);
      },
      close: async () => {},
    },
    async [Symbol.asyncDispose]() {},
  };
}
