import type { Energy } from '../../src/core/energy.ts';
import type { Evaluation, EvaluationRequest, Evaluator } from '../../src/core/evaluation.ts';
import type { Finding } from '../../src/core/finding.ts';
import type { Candidate } from '../../src/core/kernel.ts';
import type { Comparison, Measurement } from '../../src/core/measurement.ts';
import type { SanitizerReport } from '../../src/core/profile.ts';
import { compareContenders } from '../../src/stats/compare-contenders.ts';
import { compareEnergy, summariseEnergy } from '../../src/stats/compare-energy.ts';
import { finding, nameOf } from './fakes.ts';

export const CUDA = { id: 'cuda:0', kind: 'cuda', name: 'Fake' } as const;

/** What the fake GPU knows of a candidate, and what was asked of it. */
export interface Script {
  /** True time of a candidate by name (and workload), in ns. */
  ns?: Readonly<Record<string, number>> | ((name: string, workload: string) => number);
  /** The same of a candidate itself; goes before `ns`. */
  nsOf?: (candidate: Candidate, workload: string) => number;
  /** True energy of a launch sequence by name, in joules, where energy is asked for. A text: why there is none. */
  joules?: Readonly<Record<string, number>> | ((name: string, workload: string) => number) | string;
  /** Why an evaluation gets no energy, if it gets none. */
  withoutEnergy?: (request: EvaluationRequest) => string | undefined;
  /** Power of the idle board in W; not known when absent. */
  idleW?: number | undefined;
  /** Ratio that a screen reads, where it differs from the true one. */
  screened?: Readonly<Record<string, number>>;
  sanitizer?: SanitizerReport['outcome'];
  doubt?: SanitizerReport['doubt'];
  failsWhenConfirmed?: boolean;
  /** What a confirmation reads ÷ the true time. */
  confirmedShare?: number;
  /** Evaluations of these numbers, from 1, meet a device that fails. */
  deviceFailsAt?: readonly number[];
  /** Times two contenders' blocks differ by, as a share of their ratio; without it, intervals have no width. */
  spreadShare?: number;
  findings?: readonly Finding[] | ((request: EvaluationRequest, ns: number) => readonly Finding[]);
  elapsedMs?: Evaluation['elapsedMs'];
  /** What it is measured beside can't be measured any more. */
  losesBaseline?: (request: EvaluationRequest) => boolean;
}

const measurementOf = (contender: string, ns: number, request: EvaluationRequest): Measurement => ({
  contender,
  conditions: {
    tier: request.tier ?? 'screen',
    cache: 'hot',
    ringBytes: 1,
    l2Bytes: 1,
    slotCount: 1,
    sequencesPerReplay: 1,
    replaysPerSample: 1,
    replayOverheadNs: 0,
    inputs: 'drawn-on-device',
  },
  summary: {
    minNs: ns,
    p5Ns: ns,
    medianNs: ns,
    p95Ns: ns,
    maxNs: ns,
    meanNs: ns,
    coefficientOfVariation: 0,
    sampleCount: 1,
    blockCount: 1,
    intervalNs: [ns, ns],
  },
  blocks: [],
  discardedBlockCount: 0,
  powerCapped: false,
  disturbances: [],
  checkedSlotCount: 1,
});

const comparisons = new Map<string, Comparison>();

/** Ten thousand resamples take their time; runs that are run again ask for the same ones. */
const compared = (...asked: Parameters<typeof compare>): Comparison => {
  const key = asked.join();
  const known = comparisons.get(key) ?? compare(...asked);
  comparisons.set(key, known);
  return known;
};

const compare = (baseline: string, baselineNs: number, ns: number, spreadShare: number): Comparison => {
  const blocks = Array.from({ length: 10 }, (_, i) => ({
    samples: [
      { contender: 'candidate', samplesNs: [ns * (1 + spreadShare * (i / 9 - 0.5))] },
      { contender: baseline, samplesNs: [baselineNs] },
    ],
    before: {},
    after: {},
  }));
  return compareContenders(blocks, { candidate: 'candidate', baseline }, 1);
};

const JOULES = 3e-4;
const SEQUENCES = 1000;

/** Ten windows of each contender, without noise. */
function energyOf(script: Script, request: EvaluationRequest): Energy {
  const { candidate, workload, against = [] } = request;
  const { joules = {}, idleW } = script;
  if (typeof joules === 'string') return { unavailable: joules };
  const why = script.withoutEnergy?.(request);
  if (why !== undefined) return { unavailable: why };
  const summary = (contender: string, of: Candidate) => {
    const each = typeof joules === 'function' ? joules(nameOf(of), workload.name) : (joules[nameOf(of)] ?? JOULES);
    const seconds = knows(script, of, workload.name) * 1e-9 * SEQUENCES;
    const windows = Array.from({ length: 10 }, () => ({ joules: each * SEQUENCES, seconds, sequences: SEQUENCES }));
    return summariseEnergy(contender, windows, 1);
  };
  const own = summary('candidate', candidate);
  const others = against.map((other) => summary(other.name, other.candidate));
  return {
    contenders: [own, ...others],
    comparisons: others.map((other) => compareEnergy(own, other, 1)),
    ...(idleW !== undefined && { idleW }),
    blockCount: 10,
    discardedBlockCount: 0,
    disturbances: [],
  };
}

function knows({ ns = {}, nsOf }: Script, candidate: Candidate, workload: string): number {
  if (nsOf) return nsOf(candidate, workload);
  const name = nameOf(candidate);
  return typeof ns === 'function' ? ns(name, workload) : (ns[name] ?? 1000);
}

const findingsOf = ({ findings = [finding('bank-conflicts')] }: Script, request: EvaluationRequest, ns: number) =>
  typeof findings === 'function' ? findings(request, ns) : findings;

/** Measures what the script says, beside whatever it is asked to, and keeps what it was asked. */
export const fakeGpu = (script: Script): Evaluator & { requests: EvaluationRequest[] } => {
  const requests: EvaluationRequest[] = [];
  return {
    requests,
    close: async () => {},
    async evaluate(request) {
      requests.push(request);
      const name = nameOf(request.candidate);
      const share = request.blocks === undefined ? 1 : (script.confirmedShare ?? 1);
      const { name: workload } = request.workload;
      const ns = share * knows(script, request.candidate, workload);
      const [beside] = request.against ?? [];
      const ratio = request.tier === 'screen' ? script.screened?.[name] : undefined;
      const fails = request.blocks !== undefined && script.failsWhenConfirmed;
      const deviceFails = script.deviceFailsAt?.includes(Number(request.id!.slice(1))) ?? false;
      const isAlone = script.losesBaseline?.(request) ?? false;
      return {
        schemaVersion: 1,
        id: request.id!,
        candidate: { id: request.candidate.id, kernel: name, folder: '', parameters: request.candidate.parameters },
        device: CUDA,
        workload: request.workload,
        status: deviceFails ? 'device-failed' : fails ? 'wrong' : 'passed',
        ...(fails && { reason: 'right when verified, wrong when timed' }),
        ...(!fails &&
          !deviceFails && {
            timing: {
              kind: 'measured',
              medianNs: ns,
              intervalNs: [ns, ns],
              vetoNs: 1,
              attainableNs: 2,
              bindingResource: 'measured',
              measurement: measurementOf('candidate', ns, request),
            },
          }),
        ...(isAlone && { missingBaselines: [{ name: beside!.name, reason: 'wrong when timed' }] }),
        ...(beside &&
          !deviceFails &&
          !isAlone && {
            comparisons: [
              compared(
                beside.name,
                ratio ? ratio * ns : knows(script, beside.candidate, workload),
                ns,
                script.spreadShare ?? 0,
              ),
            ],
          }),
        ...(request.energy && !fails && !deviceFails && !isAlone && { energy: energyOf(script, request) }),
        ...(request.sanitize &&
          script.sanitizer && {
            sanitizer: { outcome: script.sanitizer, version: null, tools: [], doubt: script.doubt },
          }),
        findings: [...findingsOf(script, request, ns)],
        elapsedMs: script.elapsedMs ?? { compile: 0, verify: 0, time: 0, total: 0 },
      } satisfies Evaluation;
    },
  };
};
